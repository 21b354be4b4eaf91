DROP INDEX files_owner_size;
DROP TABLE storage_usage;
