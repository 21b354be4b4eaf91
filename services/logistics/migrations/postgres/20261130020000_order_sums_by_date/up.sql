-- Replace the indexes of sums by others, in which the sums of a range of delivery dates read that range only.
CREATE INDEX IF NOT EXISTS loads_organiser_sums_by_date ON loads (organiser_id, delivery_at, carrier_id, commodity_id,
    status, weight, weight_net, created_at, completed_at);
CREATE INDEX IF NOT EXISTS loads_carrier_sums_by_date ON loads (carrier_id, delivery_at, organiser_id, commodity_id,
    status, weight, weight_net, created_at, completed_at) WHERE carrier_id IS NOT NULL;
DROP INDEX loads_carrier_sums;
DROP INDEX loads_organiser_sums;
