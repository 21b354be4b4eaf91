-- The place of an event in the feed (docs/api/events.md) is (position, n).
ALTER TABLE listing_events ADD COLUMN position INTEGER NOT NULL DEFAULT 1;
-- The listing after the event, and its organisation.
ALTER TABLE listing_events ADD COLUMN revision INTEGER;
ALTER TABLE listing_events ADD COLUMN owner_id TEXT;

-- The previous release records events without them, after it has changed the listing.
CREATE TRIGGER listing_events_completed AFTER INSERT ON listing_events WHEN NEW.revision IS NULL
BEGIN
    UPDATE listing_events SET (revision, owner_id) = (
        SELECT revision, organisation_id FROM listings WHERE id = NEW.listing_id
    ) WHERE n = NEW.n;
END;

-- Events are append-only once they are complete, except for their user. The columns are all others, also those that
-- migrations add.
DROP TRIGGER listing_events_stay;
CREATE TRIGGER listing_events_stay BEFORE UPDATE OF n, position, id, listing_id, owner_id, organisation_id, from_status,
    to_status, reason, changes, revision, at ON listing_events WHEN OLD.revision IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'listing_events is append-only');
END;
DROP TRIGGER listing_events_user_stays;
CREATE TRIGGER listing_events_user_stays BEFORE UPDATE ON listing_events
    WHEN OLD.revision IS NOT NULL AND NEW.user_id NOT GLOB 'erased-*'
BEGIN
    SELECT RAISE(ABORT, 'listing_events is append-only');
END;

-- What saved searches found, in the feed for 30 days: one row for each listing and each organisation whose users saved
-- them.
CREATE TABLE match_events (
    -- The numbers of events of listings and of matches are different.
    n INTEGER NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL DEFAULT 1,
    id BLOB NOT NULL,
    listing_id BLOB NOT NULL,
    -- An empty text: users without an organisation.
    organisation_id TEXT NOT NULL,
    -- The ids of the searches, 16 bytes each.
    searches BLOB NOT NULL,
    -- The listing that they found.
    revision INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX match_events_feed_organisation ON match_events (organisation_id, position, n);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('match_events', 'match_events_feed_organisation', '1000000 1000 1000 1');
