CREATE INDEX loads_organiser_sums ON loads (organiser_id, carrier_id, delivery_at, commodity_id, status, weight,
    weight_net, created_at, completed_at);
CREATE INDEX loads_carrier_sums ON loads (carrier_id, organiser_id, delivery_at, commodity_id, status, weight,
    weight_net, created_at, completed_at) WHERE carrier_id IS NOT NULL;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('loads', 'loads_organiser_sums', '1000000 5000 200 2 2 2 1 1 1 1'),
    ('loads', 'loads_carrier_sums', '1000000 5000 200 2 2 2 1 1 1 1');
DROP INDEX loads_carrier_sums_by_date;
DROP INDEX loads_organiser_sums_by_date;
