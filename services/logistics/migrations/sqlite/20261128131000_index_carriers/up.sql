-- The events that gave a load another carrier, which reads what happened since.
CREATE INDEX IF NOT EXISTS load_events_carrier ON load_events (load_id, at) WHERE (changes -> 'carrierId') IS NOT NULL;
