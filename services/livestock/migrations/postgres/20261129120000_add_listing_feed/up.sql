-- Added to the ids of transactions, so that positions go on growing after a move to another cluster.
CREATE TABLE IF NOT EXISTS feed_base (base BIGINT NOT NULL);
INSERT INTO feed_base SELECT 0 WHERE NOT EXISTS (SELECT FROM feed_base);

-- The place of an event in the feed (docs/api/events.md) is (position, n).
CREATE FUNCTION next_feed_position() RETURNS BIGINT LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    RETURN pg_current_xact_id()::text::bigint + (SELECT base FROM feed_base);
END $$;
ALTER TABLE listing_events ALTER COLUMN position SET DEFAULT next_feed_position();
-- The listing after the event, and its organisation.
ALTER TABLE listing_events ADD COLUMN IF NOT EXISTS revision BIGINT;
ALTER TABLE listing_events ADD COLUMN IF NOT EXISTS owner_id TEXT COLLATE "C";

-- The previous release records events without them, after it has changed the listing.
CREATE FUNCTION complete_listing_event() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    SELECT l.revision, l.organisation_id INTO NEW.revision, NEW.owner_id FROM listings l WHERE l.id = NEW.listing_id;
    RETURN NEW;
END $$;
CREATE TRIGGER listing_events_completed BEFORE INSERT ON listing_events
    FOR EACH ROW WHEN (NEW.revision IS NULL) EXECUTE FUNCTION complete_listing_event();

-- Events are append-only once they are complete.
DROP TRIGGER listing_events_stay ON listing_events;
CREATE TRIGGER listing_events_stay BEFORE UPDATE ON listing_events
    FOR EACH ROW WHEN (OLD.revision IS NOT NULL AND (NEW.user_id NOT LIKE 'erased-%'
        OR to_jsonb(NEW) - '{user_id,user_name}'::text[] <> to_jsonb(OLD) - '{user_id,user_name}'::text[]))
    EXECUTE FUNCTION refuse_change();

-- What saved searches found, in the feed for 30 days: one row for each listing and each organisation whose users saved
-- them.
CREATE TABLE match_events (
    -- The numbers of events of listings and of matches are different.
    n BIGINT NOT NULL PRIMARY KEY DEFAULT nextval('listing_events_n_seq'),
    position BIGINT NOT NULL DEFAULT next_feed_position(),
    id UUID NOT NULL,
    listing_id UUID NOT NULL,
    -- An empty text: users without an organisation.
    organisation_id TEXT COLLATE "C" NOT NULL,
    -- The ids of the searches, 16 bytes each.
    searches BYTEA NOT NULL,
    -- The listing that they found.
    revision BIGINT NOT NULL,
    at TIMESTAMPTZ NOT NULL
);
CREATE INDEX match_events_feed ON match_events (position, n);
CREATE INDEX match_events_feed_organisation ON match_events (organisation_id, position, n);
