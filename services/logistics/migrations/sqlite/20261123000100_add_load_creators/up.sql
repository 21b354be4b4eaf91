-- The organisation that created a load: NULL is not known yet (the service fills it in: the organiser, else the
-- carrier), empty is an administrator without an organisation.
ALTER TABLE loads ADD COLUMN created_by TEXT;
-- 1 while a load that was entered for its organiser waits to be accepted, else NULL.
ALTER TABLE loads ADD COLUMN awaits_acceptance INTEGER;
ALTER TABLE loads ADD COLUMN accepted_at INTEGER;
-- The user who accepted it.
ALTER TABLE loads ADD COLUMN accepted_by TEXT;
CREATE INDEX loads_without_creator ON loads (id) WHERE created_by IS NULL;
-- The organiser's completed export.
CREATE INDEX loads_organiser_accepted ON loads (organiser_id, completed_at, id)
    WHERE completed_at IS NOT NULL AND awaits_acceptance IS NULL;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('loads', 'loads_without_creator', '1 1'),
    ('loads', 'loads_organiser_accepted', '690000 3450 2 1');
