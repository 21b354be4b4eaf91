ALTER TABLE listings DROP COLUMN first_stored_at;
-- The next upgrade fills in the columns again.
UPDATE listings SET derived = 3 WHERE derived > 3;
