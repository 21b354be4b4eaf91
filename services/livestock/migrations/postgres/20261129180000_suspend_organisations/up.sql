-- Organisations whose active listings nobody else finds meanwhile.
CREATE TABLE IF NOT EXISTS suspended_organisations (
    organisation_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- The order of lists.
    id UUID NOT NULL UNIQUE,
    reason TEXT NOT NULL,
    suspended_at TIMESTAMPTZ NOT NULL
);
-- TRUE for events while the organisation of the listing was suspended: the feed of the market never has them.
ALTER TABLE listing_events ADD COLUMN IF NOT EXISTS hidden BOOLEAN;
