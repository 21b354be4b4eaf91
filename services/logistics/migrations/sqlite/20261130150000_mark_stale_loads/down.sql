DROP TRIGGER loads_staleness_kept;
DROP INDEX loads_stale;
CREATE INDEX loads_stale_revision ON loads (id) WHERE json_extract(document, '$.revision') IS NOT revision;
CREATE INDEX loads_unfolded ON loads (id) WHERE instr(reference_key, char(1)) = 0;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('loads', 'loads_stale_revision', '1 1'), ('loads', 'loads_unfolded', '1 1');
ALTER TABLE loads DROP COLUMN is_stale;
