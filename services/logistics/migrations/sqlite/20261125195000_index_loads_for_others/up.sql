-- The loads that an organisation created but is no party of. Batches look for existing loads by creator and date; the
-- other loads of a creator are found by their organiser or carrier.
CREATE INDEX loads_created_for_others ON loads (created_by, delivery_at)
    WHERE organiser_id IS DISTINCT FROM created_by AND carrier_id IS DISTINCT FROM created_by;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('loads', 'loads_created_for_others', '1000 100 2');
