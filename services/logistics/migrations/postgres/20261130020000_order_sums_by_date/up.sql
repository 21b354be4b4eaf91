-- All that the sums of the loads of an organiser or a carrier need, so that the rows of loads are not read, and the sums of
-- a range of delivery dates read that range only.
CREATE INDEX IF NOT EXISTS loads_organiser_sums_by_date ON loads (organiser_id, delivery_at, carrier_id, commodity_id,
    status, weight, weight_net, created_at, completed_at);
CREATE INDEX IF NOT EXISTS loads_carrier_sums_by_date ON loads (carrier_id, delivery_at, organiser_id, commodity_id,
    status, weight, weight_net, created_at, completed_at) WHERE carrier_id IS NOT NULL;
-- Development versions of 1.2 had these.
DROP INDEX IF EXISTS loads_carrier_sums;
DROP INDEX IF EXISTS loads_organiser_sums;
