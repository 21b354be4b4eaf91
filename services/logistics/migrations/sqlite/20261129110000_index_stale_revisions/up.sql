-- Loads whose documents do not show their revision, because an older release stored or changed them. The condition is
-- that of the query (backfill.rs).
CREATE INDEX loads_stale_revision ON loads (id) WHERE json_extract(document, '$.revision') IS NOT revision;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('loads', 'loads_stale_revision', '1 1');
