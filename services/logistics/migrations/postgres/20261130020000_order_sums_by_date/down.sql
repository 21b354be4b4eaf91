CREATE INDEX IF NOT EXISTS loads_organiser_sums ON loads (organiser_id, carrier_id, delivery_at, commodity_id, status,
    weight, weight_net, created_at, completed_at);
CREATE INDEX IF NOT EXISTS loads_carrier_sums ON loads (carrier_id, organiser_id, delivery_at, commodity_id, status,
    weight, weight_net, created_at, completed_at) WHERE carrier_id IS NOT NULL;
DROP INDEX loads_carrier_sums_by_date;
DROP INDEX loads_organiser_sums_by_date;
