-- Saving a search adds up the sizes of those with notify.
CREATE INDEX IF NOT EXISTS saved_searches_sizes ON saved_searches (index_bytes) WHERE notify;
