DROP INDEX loads_pair_delivery;
CREATE INDEX loads_organiser_completed ON loads (organiser_id, completed_at, id) WHERE completed_at IS NOT NULL;
