-- What users say is wrong with a listing, once each.
CREATE TABLE reports (
    id BLOB NOT NULL PRIMARY KEY,
    listing_id BLOB NOT NULL REFERENCES listings (id),
    user_id TEXT NOT NULL,
    reason TEXT NOT NULL,
    message TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (listing_id, user_id)
) STRICT;
CREATE INDEX reports_listing_created ON reports (listing_id, created_at, id);
