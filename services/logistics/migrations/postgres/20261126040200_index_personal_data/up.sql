-- The export and the erasure of personal data find the records of a user by these.
CREATE INDEX IF NOT EXISTS loads_creator ON loads (creator_id, id) WHERE creator_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS loads_accepter ON loads (accepted_by, id) WHERE accepted_by IS NOT NULL;
CREATE INDEX IF NOT EXISTS notifications_driver ON notifications (recipient_id, id) WHERE event = 'load.sent_to_driver';
-- The events that name a driver. The expression is that of the queries (personal_data/store/drivers.rs).
CREATE INDEX IF NOT EXISTS load_events_driver ON load_events
    ((COALESCE(changes #>> '{driverId,to}', changes #>> '{driverId,from}')), n)
    WHERE type IN ('sent_to_driver', 'driver_revoked');
