-- The load or listing. NULL for tests, and if an earlier release stored the delivery.
ALTER TABLE webhook_deliveries ADD COLUMN subject_id BLOB;
-- The last attempts, a JSON array.
ALTER TABLE webhook_deliveries ADD COLUMN tries TEXT;
