DROP INDEX saved_searches_sizes;
ALTER TABLE saved_searches DROP COLUMN index_bytes;
