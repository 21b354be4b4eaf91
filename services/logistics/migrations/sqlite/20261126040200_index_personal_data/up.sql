-- The export and the erasure of personal data find the records of a user by these.
CREATE INDEX loads_creator ON loads (creator_id, id) WHERE creator_id IS NOT NULL;
CREATE INDEX loads_accepter ON loads (accepted_by, id) WHERE accepted_by IS NOT NULL;
CREATE INDEX notifications_driver ON notifications (recipient_id, id) WHERE event = 'load.sent_to_driver';
-- The events that name a driver. The expression is that of the queries (personal_data/store/drivers.rs).
CREATE INDEX load_events_driver ON load_events
    (COALESCE(json_extract(changes, '$.driverId.to'), json_extract(changes, '$.driverId.from')), n)
    WHERE type IN ('sent_to_driver', 'driver_revoked');
-- What a million loads of 1,000 users look like.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('loads', 'loads_creator', '1000000 1000 1'),
    ('loads', 'loads_accepter', '100000 1000 1');
