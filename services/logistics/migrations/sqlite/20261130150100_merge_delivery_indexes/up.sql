-- Indexes for pages by delivery date that also have all that sums need: each index costs a load about 3 KiB of log.
DROP INDEX loads_organiser_delivery;
DROP INDEX loads_carrier_delivery;
-- Development versions of 1.2 had these.
DROP INDEX IF EXISTS loads_organiser_sums_by_date;
DROP INDEX IF EXISTS loads_carrier_sums_by_date;
CREATE INDEX loads_organiser_delivery ON loads (organiser_id, delivery_at, id, carrier_id, commodity_id, status, weight,
    weight_net, created_at, completed_at);
CREATE INDEX loads_carrier_delivery ON loads (carrier_id, delivery_at, id, organiser_id, commodity_id, status, weight,
    weight_net, created_at, completed_at);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('loads', 'loads_organiser_delivery', '1000000 5000 10 1 1 1 1 1 1 1 1'),
    ('loads', 'loads_carrier_delivery', '1000000 5000 10 1 1 1 1 1 1 1 1');
-- There are five statuses, most loads are completed, and searches by status are about the others.
UPDATE sqlite_stat1 SET stat = '1000000 5000 1000 10 1' WHERE idx IN ('loads_organiser_status', 'loads_carrier_status');
