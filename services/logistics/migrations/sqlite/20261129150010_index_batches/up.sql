-- The loads that a batch created.
CREATE INDEX loads_batch ON loads (batch_id, id) WHERE batch_id IS NOT NULL;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('loads', 'loads_batch', '500000 200 1');
