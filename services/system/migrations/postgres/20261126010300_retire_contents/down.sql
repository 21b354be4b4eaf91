ALTER TABLE contents DROP COLUMN retired_at;
