ALTER TABLE webhook_deliveries DROP COLUMN bytes;
ALTER TABLE webhook_deliveries DROP COLUMN cause_id;
DROP TABLE webhook_message_users;
DROP TABLE webhook_messages;
