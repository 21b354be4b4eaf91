ALTER TABLE idempotency_keys DROP COLUMN subject_id;
ALTER TABLE due_shares DROP COLUMN user_id;
DROP TABLE erasures;
DROP TABLE file_uploaders;
