ALTER TABLE saved_searches DROP COLUMN near_lat, DROP COLUMN near_lon;
