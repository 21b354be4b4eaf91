DROP INDEX webhook_deliveries_user;
DROP INDEX webhook_deliveries_subject;
