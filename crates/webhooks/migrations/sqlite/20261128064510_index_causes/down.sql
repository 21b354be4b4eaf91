DROP INDEX webhook_deliveries_message;
DROP INDEX webhook_deliveries_causes;
