-- Events from before a move to another cluster of PostgreSQL have greater positions than later ones, and come first.
DO $$
DECLARE
    next BIGINT := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
    moved BIGINT;
BEGIN
    SELECT max(n) INTO moved FROM listing_events WHERE position > next;
    IF moved IS NOT NULL THEN
        UPDATE listing_events SET position = 0 WHERE n <= moved AND revision IS NULL;
    END IF;
END $$;
UPDATE listing_events e SET revision = least(numbered.revision, l.revision), owner_id = l.organisation_id
    FROM (SELECT listing_id, n, row_number() OVER (PARTITION BY listing_id ORDER BY n) AS revision
            FROM listing_events) AS numbered,
        listings l
    WHERE numbered.listing_id = e.listing_id AND numbered.n = e.n AND l.id = e.listing_id AND e.revision IS NULL;
-- What happens to drafts is not in the feed, except that they are published or closed.
CREATE INDEX IF NOT EXISTS listing_events_feed_owner ON listing_events (owner_id, position, n) WHERE to_status <> 'draft';
