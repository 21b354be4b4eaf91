-- What the files of an owner have, archived ones too. A row is counted when it is first needed, and again a day later,
-- because the previous release stores files without it.
CREATE TABLE storage_usage (
    -- `organisation ` and its id, or `user ` and the id of a user whose files have no organisation.
    owner TEXT NOT NULL PRIMARY KEY,
    -- Sum of the sizes of the files. Equal contents count for each file.
    bytes BIGINT NOT NULL,
    files BIGINT NOT NULL,
    -- When the files were counted. Later files were added to the count.
    counted_at TIMESTAMPTZ NOT NULL
);
-- Counting reads the index only.
CREATE INDEX IF NOT EXISTS files_owner_size ON files (organisation_id, user_id, size);
