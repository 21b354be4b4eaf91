-- Starts read all listings again. The tables stay for the previous release, which may write a last snapshot while it is
-- replaced, and are dropped by a later one.
DELETE FROM facet_snapshots;
DELETE FROM facet_snapshot_chunks;
