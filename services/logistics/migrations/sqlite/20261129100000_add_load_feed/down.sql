DROP TRIGGER load_events_placed;
DELETE FROM load_events WHERE type IN ('created', 'released');
ALTER TABLE load_events DROP COLUMN position;
ALTER TABLE load_events DROP COLUMN revision;
ALTER TABLE load_events DROP COLUMN reference;
ALTER TABLE load_events DROP COLUMN organiser_id;
ALTER TABLE load_events DROP COLUMN carrier_id;
ALTER TABLE load_events DROP COLUMN created_by;
