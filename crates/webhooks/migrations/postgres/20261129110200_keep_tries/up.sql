-- The load or listing. NULL for tests, and if an earlier release stored the delivery.
ALTER TABLE webhook_deliveries ADD COLUMN IF NOT EXISTS subject_id UUID,
    -- The last attempts, a JSON array.
    ADD COLUMN IF NOT EXISTS tries TEXT;
