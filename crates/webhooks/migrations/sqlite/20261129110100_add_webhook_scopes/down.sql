DROP INDEX webhooks_all;
ALTER TABLE webhooks DROP COLUMN scope;
