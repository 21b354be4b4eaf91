ALTER TABLE saved_search_counts DROP COLUMN updated_at;
ALTER TABLE saved_searches DROP COLUMN updated_at;
