CREATE INDEX IF NOT EXISTS contents_retired ON contents (hash) WHERE retired_at IS NOT NULL;
