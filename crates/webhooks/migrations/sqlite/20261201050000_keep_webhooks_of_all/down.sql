ALTER TABLE webhooks DROP COLUMN admin_only;
