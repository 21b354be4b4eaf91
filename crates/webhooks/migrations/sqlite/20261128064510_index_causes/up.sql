-- The turns of causes within a webhook, and the deliveries of a message.
CREATE INDEX IF NOT EXISTS webhook_deliveries_causes ON webhook_deliveries (webhook_id, cause_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS webhook_deliveries_message ON webhook_deliveries (id);
