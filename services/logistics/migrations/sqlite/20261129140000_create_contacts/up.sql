-- The organisations and users that have called the service, with the names in their tokens.
CREATE TABLE known_callers (
    -- 'organisation' or 'driver': any user can be a driver.
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    -- NULL if no token had a name.
    name TEXT,
    -- The day of the last write, in days since 1970.
    written_on INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
-- The address books: whom the loads of an organisation name, the organisation itself included.
CREATE TABLE contacts (
    organisation_id TEXT NOT NULL,
    -- 'organisation' or 'driver'.
    kind TEXT NOT NULL,
    contact_id TEXT NOT NULL,
    name TEXT,
    -- The folded name, or id without a name: its beginning.
    name_key TEXT NOT NULL,
    -- The text that queries match: the folded name and id.
    words TEXT NOT NULL,
    PRIMARY KEY (organisation_id, kind, contact_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX contacts_name ON contacts (organisation_id, kind, name_key, contact_id);
CREATE INDEX contacts_contact ON contacts (contact_id, kind);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('contacts', 'contacts', '10000 100 50 1'),
    ('contacts', 'contacts_name', '10000 100 50 1 1'),
    ('contacts', 'contacts_contact', '10000 10 10');
-- The last event from which contacts were taken: one row, at first before all events.
CREATE TABLE contacts_position (position INTEGER NOT NULL, n INTEGER NOT NULL PRIMARY KEY) STRICT;
INSERT INTO contacts_position VALUES (-2, 0);
