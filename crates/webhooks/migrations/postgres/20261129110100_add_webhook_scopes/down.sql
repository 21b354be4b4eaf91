ALTER TABLE webhooks DROP COLUMN scope;
