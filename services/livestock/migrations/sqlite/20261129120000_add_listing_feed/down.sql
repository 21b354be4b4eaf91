DROP TABLE match_events;
DROP TRIGGER listing_events_completed;
DROP TRIGGER listing_events_stay;
DROP TRIGGER listing_events_user_stays;
ALTER TABLE listing_events DROP COLUMN owner_id;
ALTER TABLE listing_events DROP COLUMN revision;
ALTER TABLE listing_events DROP COLUMN position;
CREATE TRIGGER listing_events_stay BEFORE UPDATE OF n, id, listing_id, organisation_id, from_status, to_status, reason,
    changes, at ON listing_events
BEGIN
    SELECT RAISE(ABORT, 'listing_events is append-only');
END;
CREATE TRIGGER listing_events_user_stays BEFORE UPDATE ON listing_events WHEN NEW.user_id NOT GLOB 'erased-*' BEGIN
    SELECT RAISE(ABORT, 'listing_events is append-only');
END;
