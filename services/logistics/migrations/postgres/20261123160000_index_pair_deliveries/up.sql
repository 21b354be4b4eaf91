-- The loads between two parties by delivery date: large parties have too many loads to filter those of the other one.
CREATE INDEX IF NOT EXISTS loads_pair_delivery ON loads (organiser_id, carrier_id, delivery_at, id)
    WHERE carrier_id IS NOT NULL;
-- No query needs it: the organiser's completed export reads loads_organiser_accepted.
DROP INDEX IF EXISTS loads_organiser_completed;
