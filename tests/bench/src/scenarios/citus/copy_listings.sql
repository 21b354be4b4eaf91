-- Copies the LISTING_COUNT oldest listings, each with a new id in row and document, and a new event.
CREATE TEMPORARY TABLE copies AS
    SELECT id AS old_id, gen_random_uuid() AS new_id FROM livestock.listings ORDER BY created_at, id LIMIT LISTING_COUNT;
CREATE TEMPORARY TABLE copied AS
    SELECT listings.*, new_id FROM livestock.listings JOIN copies ON id = old_id;
UPDATE copied SET id = new_id, document = replace(document::text, id::text, new_id::text)::json;
ALTER TABLE copied DROP COLUMN new_id;
INSERT INTO livestock.listings SELECT * FROM copied;
INSERT INTO livestock.listing_events (listing_id, user_id, to_status, at)
    SELECT id, document ->> 'userId', status, created_at FROM copied;
DROP TABLE copies, copied;
