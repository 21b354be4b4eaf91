-- Organisations whose active listings nobody else finds meanwhile.
CREATE TABLE suspended_organisations (
    organisation_id TEXT NOT NULL PRIMARY KEY,
    -- The order of lists.
    id BLOB NOT NULL UNIQUE,
    reason TEXT NOT NULL,
    suspended_at INTEGER NOT NULL
) STRICT;
-- 1 for events while the organisation of the listing was suspended: the feed of the market never has them.
ALTER TABLE listing_events ADD COLUMN hidden INTEGER;
