DROP INDEX listings_cancelled;
DROP TRIGGER listings_cancelled_draft ON listings;
DROP FUNCTION mark_cancelled_draft;
ALTER TABLE listings DROP COLUMN cancelled_as_draft;
