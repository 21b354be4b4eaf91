-- The points that visitors without a token see: coordinates rounded to hundredths of a degree.
ALTER TABLE listings ADD COLUMN public_x REAL;
ALTER TABLE listings ADD COLUMN public_y REAL;
ALTER TABLE listings ADD COLUMN public_z REAL;
