-- The batches that stored something: the newest 10,000 of each organisation.
CREATE TABLE load_batches (
    -- UUIDv7: the order of lists.
    id BLOB NOT NULL PRIMARY KEY,
    -- Empty for an admin without an organisation.
    organisation_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    user_name TEXT NOT NULL,
    -- The names of the files, as a JSON array.
    files TEXT NOT NULL,
    -- In milliseconds since 1970.
    created_at INTEGER NOT NULL,
    -- The number of loads that were created, and of those that were changed.
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX load_batches_organisation ON load_batches (organisation_id, id);
CREATE INDEX load_batches_user ON load_batches (user_id, id);

-- The batch that created a load. NULL for other loads.
ALTER TABLE loads ADD COLUMN batch_id BLOB;
