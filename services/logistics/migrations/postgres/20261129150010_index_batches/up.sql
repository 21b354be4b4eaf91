-- The loads that a batch created.
CREATE INDEX IF NOT EXISTS loads_batch ON loads (batch_id, id) WHERE batch_id IS NOT NULL;
