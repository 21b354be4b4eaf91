CREATE INDEX loads_without_commodity ON loads (id) WHERE commodity_id IS NULL;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('loads', 'loads_without_commodity', '1 1');
