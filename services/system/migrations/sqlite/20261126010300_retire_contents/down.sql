DROP INDEX contents_retired;
ALTER TABLE contents DROP COLUMN retired_at;
