-- When the webhook was changed last. NULL: not since it was created, or by an earlier release.
ALTER TABLE webhooks ADD COLUMN updated_at INTEGER;
