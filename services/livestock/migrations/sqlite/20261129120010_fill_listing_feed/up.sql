UPDATE listing_events SET revision = min(numbered.revision, l.revision), owner_id = l.organisation_id
    FROM (SELECT n, row_number() OVER (PARTITION BY listing_id ORDER BY n) AS revision FROM listing_events) AS numbered,
        listings l
    WHERE numbered.n = listing_events.n AND l.id = listing_events.listing_id AND listing_events.revision IS NULL;
-- What happens to drafts is not in the feed, except that they are published or closed.
CREATE INDEX listing_events_feed_owner ON listing_events (owner_id, position, n) WHERE to_status <> 'draft';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('listing_events', 'listing_events_feed_owner', '2000000 100 100 1');
