-- The loads between two parties by delivery date: large parties have too many loads to filter those of the other one.
CREATE INDEX loads_pair_delivery ON loads (organiser_id, carrier_id, delivery_at, id) WHERE carrier_id IS NOT NULL;
-- No query reads it: the organiser's completed export reads loads_organiser_accepted.
DROP INDEX loads_organiser_completed;
-- The same indexes with the delivery date. A search for a range of dates reads them in order and skips other dates
-- without reading their rows.
DROP INDEX loads_organiser_created;
DROP INDEX loads_carrier_created;
CREATE INDEX loads_organiser_created ON loads (organiser_id, created_at, id, delivery_at);
CREATE INDEX loads_carrier_created ON loads (carrier_id, created_at, id, delivery_at);
-- Dropping an index deletes its estimates.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('loads', 'loads_pair_delivery', '900000 4500 100 5 1'),
    ('loads', 'loads_organiser_created', '1000000 5000 2 1 1'),
    ('loads', 'loads_carrier_created', '1000000 5000 2 1 1');
