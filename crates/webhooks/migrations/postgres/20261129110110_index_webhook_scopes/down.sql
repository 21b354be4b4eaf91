DROP INDEX webhooks_all;
