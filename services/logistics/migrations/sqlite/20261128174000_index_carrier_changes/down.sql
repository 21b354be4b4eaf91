DROP INDEX load_events_last_carrier;
