-- The export and the erasure of personal data find the files of a user by this.
CREATE INDEX IF NOT EXISTS files_uploader ON files (user_id, id);
