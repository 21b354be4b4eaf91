-- The name in lower case, for searches. NULL until the service has filled it in: the previous release does not.
ALTER TABLE files ADD COLUMN name_key TEXT;
CREATE INDEX files_without_name_key ON files (id) WHERE name_key IS NULL;

-- The order of lists, with and without a type, for an organisation and for all of them.
CREATE INDEX files_owner_kind ON files (organisation_id, kind, bucket, created_at, id) WHERE archived_at IS NULL;
CREATE INDEX files_owner_bucket ON files (organisation_id, bucket, created_at, id) WHERE archived_at IS NULL;
CREATE INDEX files_kind ON files (kind, bucket, created_at, id) WHERE archived_at IS NULL;
CREATE INDEX files_bucket ON files (bucket, created_at, id) WHERE archived_at IS NULL;
CREATE INDEX files_archived_owner_kind ON files (organisation_id, kind, bucket, created_at, id)
    WHERE archived_at IS NOT NULL;
CREATE INDEX files_archived_owner_bucket ON files (organisation_id, bucket, created_at, id)
    WHERE archived_at IS NOT NULL;
CREATE INDEX files_archived_kind ON files (kind, bucket, created_at, id) WHERE archived_at IS NOT NULL;
CREATE INDEX files_archived_bucket ON files (bucket, created_at, id) WHERE archived_at IS NOT NULL;
-- The files that belong to a user alone.
CREATE INDEX files_user ON files (user_id, created_at, id) WHERE organisation_id IS NULL;
-- Whether a content belongs to a file, and to one that is not archived.
CREATE INDEX files_hash ON files (hash, archived_at);

-- The trigrams of names. It has its own rows, because those of `files` have no number that stays.
CREATE VIRTUAL TABLE files_fts USING fts5 (
    name_key, file_id UNINDEXED, tokenize = 'trigram case_sensitive 1', detail = none
);
CREATE TRIGGER files_inserted AFTER INSERT ON files WHEN new.name_key IS NOT NULL BEGIN
    INSERT INTO files_fts (name_key, file_id) VALUES (new.name_key, new.id);
END;
CREATE TRIGGER files_named AFTER UPDATE OF name_key ON files
    WHEN old.name_key IS NULL AND new.name_key IS NOT NULL
BEGIN
    INSERT INTO files_fts (name_key, file_id) VALUES (new.name_key, new.id);
END;

-- What a million files of 200 organisations look like: without statistics SQLite reads too many files of a common type.
ANALYZE sqlite_schema;
DELETE FROM sqlite_stat1 WHERE tbl = 'files';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('files', 'sqlite_autoindex_files_1', '1000000 1'),
    ('files', 'files_without_name_key', '1 1'),
    ('files', 'files_owner_kind', '980000 4900 600 600 1 1'),
    ('files', 'files_owner_bucket', '980000 4900 2500 1 1'),
    ('files', 'files_kind', '980000 98000 98000 1 1'),
    ('files', 'files_bucket', '980000 490000 1 1'),
    ('files', 'files_archived_owner_kind', '20000 100 12 12 1 1'),
    ('files', 'files_archived_owner_bucket', '20000 100 50 1 1'),
    ('files', 'files_archived_kind', '20000 2000 2000 1 1'),
    ('files', 'files_archived_bucket', '20000 10000 1 1'),
    ('files', 'files_user', '1000 10 1 1'),
    ('files', 'files_hash', '1000000 1 1');
