-- The point of the parameter `near`, as it was when the search was saved or `near` was edited.
ALTER TABLE saved_searches ADD COLUMN near_lat REAL;
ALTER TABLE saved_searches ADD COLUMN near_lon REAL;
