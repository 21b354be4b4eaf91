DROP TRIGGER listings_text_inserted;
DROP TRIGGER listings_text_updated;
DROP TRIGGER listings_text_deleted;
DROP TABLE listings_fts;
ALTER TABLE listings DROP COLUMN search_text;
-- The next upgrade fills the column again.
UPDATE listings SET derived = 1 WHERE derived > 1;
