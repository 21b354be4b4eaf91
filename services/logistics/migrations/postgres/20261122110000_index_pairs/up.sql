-- The loads between two parties, newest first; by date without reading those of other days.
CREATE INDEX loads_pair ON loads (organiser_id, carrier_id, created_at, id, delivery_at) WHERE carrier_id IS NOT NULL;
