-- What users say is wrong with a listing, once each.
CREATE TABLE reports (
    id UUID NOT NULL PRIMARY KEY,
    listing_id UUID NOT NULL REFERENCES listings (id),
    user_id TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    message TEXT COLLATE "C",
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT reports_once UNIQUE (listing_id, user_id)
);
CREATE INDEX reports_listing_created ON reports (listing_id, created_at, id);
