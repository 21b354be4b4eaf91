-- What the files of an owner have, archived ones too. A row is counted when it is first needed, and again a day later,
-- because the previous release stores files without it.
CREATE TABLE storage_usage (
    -- `organisation ` and its id, or `user ` and the id of a user whose files have no organisation.
    owner TEXT NOT NULL PRIMARY KEY,
    -- Sum of the sizes of the files. Equal contents count for each file.
    bytes INTEGER NOT NULL,
    files INTEGER NOT NULL,
    -- When the files were counted. Later files were added to the count.
    counted_at INTEGER NOT NULL
) STRICT;
-- Counting reads the index only.
CREATE INDEX files_owner_size ON files (organisation_id, user_id, size);
-- What a million files of 200 organisations and 1,000 users look like.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('files', 'files_owner_size', '1000000 5000 1000 1');
