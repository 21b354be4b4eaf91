DROP TRIGGER listings_created;
DROP INDEX listings_status_first_stored;
ALTER TABLE listings DROP COLUMN first_stored_at;
-- The next upgrade fills in the columns again.
UPDATE listings SET derived = 3 WHERE derived > 3;
