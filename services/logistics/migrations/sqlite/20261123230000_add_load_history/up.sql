-- Grows by one with each change of a load except sending.
ALTER TABLE loads ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
-- The user who created a load. NULL for loads of older versions.
ALTER TABLE loads ADD COLUMN creator_id TEXT;
ALTER TABLE loads ADD COLUMN creator_name TEXT;
-- The proof after corrections, as JSON. The column proof keeps the original.
ALTER TABLE loads ADD COLUMN corrected_proof TEXT;
-- Searches without a status leave these out.
CREATE INDEX loads_cancelled ON loads (id) WHERE status = 'cancelled';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('loads', 'loads_cancelled', '1000 1');

-- The history of loads, without the creation, which the row of the load tells.
CREATE TABLE load_events (
    -- The order of the events.
    n INTEGER NOT NULL PRIMARY KEY,
    id BLOB NOT NULL,
    load_id BLOB NOT NULL,
    type TEXT NOT NULL,
    -- NULL if an older version made the change.
    user_id TEXT,
    user_name TEXT,
    organisation_id TEXT,
    at INTEGER NOT NULL,
    reason TEXT,
    -- Members of requests with their values before and after, as JSON.
    changes TEXT
) STRICT;
CREATE INDEX load_events_load ON load_events (load_id, n);
CREATE INDEX load_events_user ON load_events (user_id) WHERE user_id IS NOT NULL;

-- The last time that a load was sent to the driver, in milliseconds since 1970.
ALTER TABLE load_drivers ADD COLUMN sent_at INTEGER;
CREATE INDEX load_drivers_driver ON load_drivers (driver_id, load_id);
UPDATE load_drivers SET sent_at = (
    SELECT max(created_at) FROM notifications
    WHERE load_id = load_drivers.load_id AND event = 'load.sent_to_driver' AND recipient_id = driver_id
);

-- What notifications tell of the loads of older versions. The history of loads without notifications is read from their
-- rows.
INSERT INTO load_events (id, load_id, type, user_id, organisation_id, at, changes)
    SELECT * FROM (
        SELECT id, load_id, CASE event WHEN 'load.sent_to_driver' THEN 'sent_to_driver' ELSE 'sent_to_carrier' END,
            NULL, nullif(organisation_id, ''), created_at AS at,
            CASE event WHEN 'load.sent_to_driver' THEN json_object('driverId', json_object('to', recipient_id)) END
        FROM notifications
        UNION ALL
        SELECT randomblob(16), id, 'completed', NULL, NULL, completed_at, NULL FROM loads
        WHERE completed_at IS NOT NULL AND id IN (SELECT load_id FROM notifications)
        UNION ALL
        SELECT randomblob(16), id, 'accepted', accepted_by, organiser_id, accepted_at, NULL FROM loads
        WHERE accepted_at IS NOT NULL AND id IN (SELECT load_id FROM notifications)
    ) ORDER BY at;

-- The previous release changes the status of loads and accepts them without a revision and without an event.
CREATE TRIGGER loads_completion_recorded AFTER UPDATE OF status ON loads
    WHEN NEW.status <> OLD.status AND NEW.revision = OLD.revision
BEGIN
    UPDATE loads SET revision = revision + 1 WHERE id = NEW.id;
    INSERT INTO load_events (id, load_id, type, at) VALUES
        (randomblob(16), NEW.id, NEW.status, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER));
END;
CREATE TRIGGER loads_acceptance_recorded AFTER UPDATE OF accepted_at ON loads
    WHEN NEW.accepted_at IS NOT OLD.accepted_at AND NEW.revision = OLD.revision
BEGIN
    UPDATE loads SET revision = revision + 1 WHERE id = NEW.id;
    INSERT INTO load_events (id, load_id, type, user_id, organisation_id, at) VALUES
        (randomblob(16), NEW.id, 'accepted', NEW.accepted_by, NEW.organiser_id, NEW.accepted_at);
END;
-- It records drivers without the time.
CREATE TRIGGER load_drivers_timed AFTER INSERT ON load_drivers WHEN NEW.sent_at IS NULL
BEGIN
    UPDATE load_drivers SET sent_at = CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)
        WHERE load_id = NEW.load_id AND driver_id = NEW.driver_id;
END;
