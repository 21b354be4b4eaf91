DROP INDEX loads_stale_revision;
