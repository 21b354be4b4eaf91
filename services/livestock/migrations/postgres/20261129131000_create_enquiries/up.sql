-- Enquiries of users about listings of other organisations, which are events of the feed of these too.
CREATE TABLE IF NOT EXISTS enquiries (
    -- A number that no event of a listing has.
    n BIGINT NOT NULL PRIMARY KEY DEFAULT nextval('listing_events_n_seq'),
    position BIGINT NOT NULL DEFAULT next_feed_position(),
    id UUID NOT NULL UNIQUE,
    listing_id UUID NOT NULL,
    -- That of the listing.
    organisation_id TEXT COLLATE "C" NOT NULL,
    -- That of the listing.
    revision BIGINT NOT NULL,
    -- The sender. An empty text after an erasure.
    user_id TEXT COLLATE "C" NOT NULL,
    -- Days since 1970-01-01 in UTC, and the number of the enquiry among those of the sender that day, from 1.
    day BIGINT NOT NULL,
    slot BIGINT NOT NULL,
    message TEXT NOT NULL,
    name TEXT NOT NULL,
    phone TEXT,
    email TEXT,
    -- 'open' or 'answered'.
    status TEXT COLLATE "C" NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    answered_at TIMESTAMPTZ
);
CREATE INDEX IF NOT EXISTS enquiries_feed ON enquiries (position, n);
CREATE INDEX IF NOT EXISTS enquiries_feed_organisation ON enquiries (organisation_id, position, n);
CREATE INDEX IF NOT EXISTS enquiries_organisation ON enquiries (organisation_id, id);
CREATE INDEX IF NOT EXISTS enquiries_organisation_status ON enquiries (organisation_id, status, id);
CREATE INDEX IF NOT EXISTS enquiries_listing ON enquiries (listing_id, id);
CREATE INDEX IF NOT EXISTS enquiries_user ON enquiries (user_id, id);
CREATE UNIQUE INDEX IF NOT EXISTS enquiries_slot ON enquiries (user_id, day, slot) WHERE user_id <> '';
CREATE UNIQUE INDEX IF NOT EXISTS enquiries_once_a_day ON enquiries (user_id, day, listing_id) WHERE user_id <> '';
