ALTER TABLE webhook_deliveries DROP COLUMN tries;
ALTER TABLE webhook_deliveries DROP COLUMN subject_id;
