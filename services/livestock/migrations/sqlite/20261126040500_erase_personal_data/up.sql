-- The export and the erasure of personal data find the records of a user by these.
CREATE INDEX listing_events_user ON listing_events (user_id, n);
CREATE INDEX reports_user ON reports (user_id, id);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('listing_events', 'listing_events_user', '2000000 100 1'),
    ('reports', 'reports_user', '10000 2 1');

-- Events stay append-only, but an erasure may replace their user. The columns are all others, also those that
-- migrations add.
DROP TRIGGER listing_events_stay;
CREATE TRIGGER listing_events_stay BEFORE UPDATE OF n, id, listing_id, organisation_id, from_status, to_status, reason,
    changes, at ON listing_events
BEGIN
    SELECT RAISE(ABORT, 'listing_events is append-only');
END;
CREATE TRIGGER listing_events_user_stays BEFORE UPDATE ON listing_events WHEN NEW.user_id NOT GLOB 'erased-*' BEGIN
    SELECT RAISE(ABORT, 'listing_events is append-only');
END;
