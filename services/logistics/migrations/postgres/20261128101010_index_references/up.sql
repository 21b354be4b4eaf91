-- The loads of an organisation with a reference that is similar to one of a batch.
CREATE INDEX IF NOT EXISTS loads_similar ON loads (created_by, similarity_key) WHERE created_by IS NOT NULL;
CREATE INDEX IF NOT EXISTS loads_without_similarity ON loads (id) WHERE similarity_key IS NULL;
