-- The organisation that created a load: NULL is not known yet (the service fills it in: the organiser, else the
-- carrier), empty is an administrator without an organisation.
ALTER TABLE loads ADD COLUMN IF NOT EXISTS created_by TEXT;
-- TRUE while a load that was entered for its organiser waits to be accepted, else NULL.
ALTER TABLE loads ADD COLUMN IF NOT EXISTS awaits_acceptance BOOLEAN;
ALTER TABLE loads ADD COLUMN IF NOT EXISTS accepted_at TIMESTAMPTZ;
-- The user who accepted it.
ALTER TABLE loads ADD COLUMN IF NOT EXISTS accepted_by TEXT;
CREATE INDEX IF NOT EXISTS loads_without_creator ON loads (id) WHERE created_by IS NULL;
-- The organiser's completed export.
CREATE INDEX IF NOT EXISTS loads_organiser_accepted ON loads (organiser_id, completed_at, id)
    WHERE completed_at IS NOT NULL AND awaits_acceptance IS NULL;
