-- The last event that gave a load another carrier.
CREATE INDEX IF NOT EXISTS load_events_last_carrier ON load_events (load_id, n) WHERE (changes -> 'carrierId') IS NOT NULL;
