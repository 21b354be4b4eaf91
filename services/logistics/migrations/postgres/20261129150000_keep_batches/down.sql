ALTER TABLE loads DROP COLUMN batch_id;
DROP TABLE load_batches;
