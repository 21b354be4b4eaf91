CREATE INDEX IF NOT EXISTS webhooks_all ON webhooks (id) WHERE scope = 'all';
