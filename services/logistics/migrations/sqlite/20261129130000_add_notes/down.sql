DROP TABLE user_notes;
DELETE FROM load_events WHERE type = 'noted';
ALTER TABLE load_events DROP COLUMN text;
