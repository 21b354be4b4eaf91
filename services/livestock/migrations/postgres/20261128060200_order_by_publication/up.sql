-- created_at is the time of publication from now on, and of creation for listings that were never published: its indexes
-- have the default order. The service fills in the columns of present rows. New rows are created when they are inserted.
ALTER TABLE listings ADD COLUMN IF NOT EXISTS first_stored_at TIMESTAMPTZ NOT NULL DEFAULT now();
