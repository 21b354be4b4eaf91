ALTER TABLE webhooks DROP COLUMN updated_at;
