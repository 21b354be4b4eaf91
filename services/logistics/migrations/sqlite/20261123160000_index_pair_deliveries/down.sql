DROP INDEX loads_pair_delivery;
DROP INDEX loads_organiser_created;
DROP INDEX loads_carrier_created;
CREATE INDEX loads_organiser_created ON loads (organiser_id, created_at, id);
CREATE INDEX loads_carrier_created ON loads (carrier_id, created_at, id);
CREATE INDEX loads_organiser_completed ON loads (organiser_id, completed_at, id) WHERE completed_at IS NOT NULL;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('loads', 'loads_organiser_created', '1000000 5000 2 1'),
    ('loads', 'loads_carrier_created', '1000000 5000 2 1'),
    ('loads', 'loads_organiser_completed', '700000 3500 2 1');
