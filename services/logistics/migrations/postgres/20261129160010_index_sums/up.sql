CREATE INDEX IF NOT EXISTS loads_without_commodity ON loads (id) WHERE commodity_id IS NULL;
