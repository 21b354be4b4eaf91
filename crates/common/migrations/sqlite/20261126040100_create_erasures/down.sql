DROP INDEX idempotency_keys_subject;
ALTER TABLE idempotency_keys DROP COLUMN subject_id;
DROP INDEX due_shares_user;
ALTER TABLE due_shares DROP COLUMN user_id;
DROP TABLE erasures;
DROP TABLE file_uploaders;
