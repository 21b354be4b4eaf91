ALTER TABLE saved_searches DROP COLUMN index_bytes;
