-- Whether the scope is or ever was 'all'. Such a webhook has deliveries that its organisation must not read.
ALTER TABLE webhooks ADD COLUMN admin_only BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE webhooks SET admin_only = TRUE WHERE scope = 'all';
