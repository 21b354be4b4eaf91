-- Every change of a listing's status. Written with it, never changed: what follows the listings reads on from the last
-- one that it knows.
CREATE TABLE listing_events (
    n INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    listing_id BLOB NOT NULL REFERENCES listings (id),
    user_id TEXT NOT NULL,
    -- Nothing: the listing was created.
    from_status TEXT,
    to_status TEXT NOT NULL,
    -- What was given for closing it.
    reason TEXT,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX listing_events_listing ON listing_events (listing_id, n);
INSERT INTO listing_events (listing_id, user_id, to_status, at)
    SELECT id, document ->> '$.userId', status, created_at FROM listings ORDER BY created_at, id;
CREATE TRIGGER listing_events_stay BEFORE UPDATE ON listing_events BEGIN
    SELECT RAISE(ABORT, 'listing_events is append-only');
END;
CREATE TRIGGER listing_events_remain BEFORE DELETE ON listing_events BEGIN
    SELECT RAISE(ABORT, 'listing_events is append-only');
END;
