ALTER TABLE listings DROP COLUMN public_z;
ALTER TABLE listings DROP COLUMN public_y;
ALTER TABLE listings DROP COLUMN public_x;
