-- All that a free-text query compares, in lower case, a line for each field. NULL: the previous release wrote the
-- listing, and the service has not filled the column yet.
-- The index is built by the next migration: until this transaction ends, nobody can read the table.
ALTER TABLE listings ADD COLUMN IF NOT EXISTS search_text TEXT COLLATE "C";
