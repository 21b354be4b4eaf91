ALTER TABLE listings DROP COLUMN search_text;
-- The next upgrade fills the column again.
UPDATE listings SET derived = 1 WHERE derived > 1;
