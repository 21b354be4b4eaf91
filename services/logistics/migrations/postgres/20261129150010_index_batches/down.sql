DROP INDEX loads_batch;
