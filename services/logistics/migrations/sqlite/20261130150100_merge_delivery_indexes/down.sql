DROP INDEX loads_carrier_delivery;
DROP INDEX loads_organiser_delivery;
CREATE INDEX loads_organiser_delivery ON loads (organiser_id, delivery_at, id);
CREATE INDEX loads_carrier_delivery ON loads (carrier_id, delivery_at, id);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('loads', 'loads_organiser_delivery', '1000000 5000 10 1'),
    ('loads', 'loads_carrier_delivery', '1000000 5000 10 1');
UPDATE sqlite_stat1 SET stat = '1000000 5000 2500 10 1' WHERE idx IN ('loads_organiser_status', 'loads_carrier_status');
