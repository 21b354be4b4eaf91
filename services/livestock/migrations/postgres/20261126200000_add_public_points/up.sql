-- The points that visitors without a token see: coordinates rounded to hundredths of a degree.
ALTER TABLE listings ADD COLUMN public_x DOUBLE PRECISION;
ALTER TABLE listings ADD COLUMN public_y DOUBLE PRECISION;
ALTER TABLE listings ADD COLUMN public_z DOUBLE PRECISION;
