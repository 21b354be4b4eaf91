-- The sums of a range of delivery dates read that range only.
DROP INDEX loads_carrier_sums;
DROP INDEX loads_organiser_sums;
CREATE INDEX loads_organiser_sums ON loads (organiser_id, delivery_at, carrier_id, commodity_id, status, weight,
    weight_net, created_at, completed_at);
CREATE INDEX loads_carrier_sums ON loads (carrier_id, delivery_at, organiser_id, commodity_id, status, weight,
    weight_net, created_at, completed_at) WHERE carrier_id IS NOT NULL;
DELETE FROM sqlite_stat1 WHERE idx IN ('loads_organiser_sums', 'loads_carrier_sums');
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('loads', 'loads_organiser_sums', '1000000 5000 10 5 2 2 1 1 1 1'),
    ('loads', 'loads_carrier_sums', '1000000 5000 10 5 2 2 1 1 1 1');
