DROP TABLE IF EXISTS user_notes;
DELETE FROM load_events WHERE type = 'noted';
ALTER TABLE load_events DROP COLUMN IF EXISTS text;
