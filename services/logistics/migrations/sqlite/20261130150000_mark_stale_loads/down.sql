DROP TRIGGER loads_staleness_kept;
DROP INDEX loads_stale;
ALTER TABLE loads DROP COLUMN is_stale;
