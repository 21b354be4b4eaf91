DROP TABLE facet_snapshot_chunks;
DROP TABLE facet_snapshots;
