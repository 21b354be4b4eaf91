ALTER TABLE files DROP COLUMN name_key;
