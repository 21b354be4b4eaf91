-- What earlier shares of a load or listing contradict is removed when another one is stored.
CREATE INDEX IF NOT EXISTS due_shares_subject ON due_shares (subject_id);
-- The loads and listings that have a file.
CREATE INDEX IF NOT EXISTS file_uploaders_file ON file_uploaders (file_id, subject_id);
-- The files that a load or listing has or had.
CREATE INDEX IF NOT EXISTS file_uploaders_subject ON file_uploaders (subject_id, file_id);
