-- Whether the scope is or ever was 'all'. Such a webhook has deliveries that its organisation must not read.
ALTER TABLE webhooks ADD COLUMN admin_only INTEGER NOT NULL DEFAULT 0;
UPDATE webhooks SET admin_only = 1 WHERE scope = 'all';
