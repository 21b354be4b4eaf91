-- The batches that stored something: the newest 10,000 of each organisation.
CREATE TABLE load_batches (
    -- UUIDv7: the order of lists.
    id UUID NOT NULL PRIMARY KEY,
    -- Empty for an admin without an organisation.
    organisation_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    user_name TEXT NOT NULL,
    -- The names of the files, as a JSON array.
    files JSON NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    -- The number of loads that were created, and of those that were changed.
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL
);
CREATE INDEX load_batches_organisation ON load_batches (organisation_id, id);
CREATE INDEX load_batches_user ON load_batches (user_id, id);

-- The batch that created a load. NULL for other loads.
ALTER TABLE loads ADD COLUMN IF NOT EXISTS batch_id UUID;
