CREATE INDEX loads_creator ON loads (creator_id, id) WHERE creator_id IS NOT NULL;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('loads', 'loads_creator', '1000000 1000 1');
DROP TABLE load_creators;
