DROP TRIGGER listing_events_user_stays;
DROP TRIGGER listing_events_stay;
CREATE TRIGGER listing_events_stay BEFORE UPDATE ON listing_events BEGIN
    SELECT RAISE(ABORT, 'listing_events is append-only');
END;
DROP INDEX reports_user;
DROP INDEX listing_events_user;
