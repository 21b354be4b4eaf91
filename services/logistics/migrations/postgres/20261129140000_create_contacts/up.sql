-- The organisations and users that have called the service, with the names in their tokens.
CREATE TABLE IF NOT EXISTS known_callers (
    -- 'organisation' or 'driver': any user can be a driver.
    kind TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    -- NULL if no token had a name.
    name TEXT,
    -- The day of the last write, in days since 1970.
    written_on INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
);
-- The address books: whom the loads of an organisation name, the organisation itself included.
CREATE TABLE IF NOT EXISTS contacts (
    organisation_id TEXT COLLATE "C" NOT NULL,
    -- 'organisation' or 'driver'.
    kind TEXT COLLATE "C" NOT NULL,
    contact_id TEXT COLLATE "C" NOT NULL,
    name TEXT,
    -- The folded name, or id without a name: its beginning.
    name_key TEXT COLLATE "C" NOT NULL,
    -- The text that queries match: the folded name and id.
    words TEXT NOT NULL,
    PRIMARY KEY (organisation_id, kind, contact_id)
);
CREATE INDEX IF NOT EXISTS contacts_name ON contacts (organisation_id, kind, name_key, contact_id);
CREATE INDEX IF NOT EXISTS contacts_contact ON contacts (contact_id, kind);
-- The last event from which contacts were taken: one row, at first before all events.
CREATE TABLE IF NOT EXISTS contacts_position (position BIGINT NOT NULL, n BIGINT NOT NULL PRIMARY KEY);
INSERT INTO contacts_position SELECT -2, 0 WHERE NOT EXISTS (SELECT FROM contacts_position);
