-- Loads whose documents do not show their revision, because an older release stored or changed them. The condition is
-- that of the query (backfill.rs).
CREATE INDEX IF NOT EXISTS loads_stale_revision ON loads (id) WHERE (document ->> 'revision') IS DISTINCT FROM CAST(revision AS TEXT);
