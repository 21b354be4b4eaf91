-- The name in lower case, for searches. NULL until the service has filled it in: the previous release does not.
-- The indexes are built by the next migration: until this transaction ends, nobody can read the table.
ALTER TABLE files ADD COLUMN IF NOT EXISTS name_key TEXT;
