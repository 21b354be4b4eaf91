-- When a search was edited or its listings were read last. NULL: not since it was saved, or by an earlier release.
ALTER TABLE saved_searches ADD COLUMN IF NOT EXISTS updated_at TIMESTAMPTZ;
-- When a listing matched last. NULL: an earlier release counted.
ALTER TABLE saved_search_counts ADD COLUMN IF NOT EXISTS updated_at TIMESTAMPTZ;
