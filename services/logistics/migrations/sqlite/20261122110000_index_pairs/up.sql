-- The loads between two parties, newest first; by date without reading those of other days.
CREATE INDEX loads_pair ON loads (organiser_id, carrier_id, created_at, id, delivery_at) WHERE carrier_id IS NOT NULL;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('loads', 'loads_pair', '900000 4500 100 2 1 1');

-- The service does so, some hundreds at a time: a batch does not wait for it, nor do others for a batch.
DROP TRIGGER loads_index;
