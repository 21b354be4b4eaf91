DROP INDEX load_events_carrier;
