-- When the webhook was changed last. NULL: not since it was created, or by an earlier release.
ALTER TABLE webhooks ADD COLUMN IF NOT EXISTS updated_at TIMESTAMPTZ;
