DROP INDEX IF EXISTS due_shares_subject;
DROP INDEX IF EXISTS file_uploaders_subject;
DROP INDEX IF EXISTS file_uploaders_file;
