DROP INDEX listings_cancelled;
DROP TRIGGER listings_cancelled_draft;
ALTER TABLE listings DROP COLUMN cancelled_as_draft;
