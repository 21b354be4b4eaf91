ALTER TABLE saved_searches DROP COLUMN near_lat;
ALTER TABLE saved_searches DROP COLUMN near_lon;
