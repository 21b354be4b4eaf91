-- All that the sums of the loads of an organiser or a carrier need, so that the rows of loads are not read.
CREATE INDEX IF NOT EXISTS loads_organiser_sums ON loads (organiser_id, carrier_id, delivery_at, commodity_id, status,
    weight, weight_net, created_at, completed_at);
CREATE INDEX IF NOT EXISTS loads_carrier_sums ON loads (carrier_id, organiser_id, delivery_at, commodity_id, status,
    weight, weight_net, created_at, completed_at) WHERE carrier_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS loads_without_commodity ON loads (id) WHERE commodity_id IS NULL;
