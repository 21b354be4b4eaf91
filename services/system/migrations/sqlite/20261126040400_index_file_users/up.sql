-- The export and the erasure of personal data find the files of a user by this.
CREATE INDEX files_uploader ON files (user_id, id);
-- What a million files of 1,000 users look like.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('files', 'files_uploader', '1000000 1000 1');
