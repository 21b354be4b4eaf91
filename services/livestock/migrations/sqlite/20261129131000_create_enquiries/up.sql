-- Enquiries of users about listings of other organisations, which are events of the feed of these too.
CREATE TABLE enquiries (
    -- A number that no event of a listing has.
    n INTEGER NOT NULL PRIMARY KEY,
    position INTEGER NOT NULL DEFAULT 1,
    id BLOB NOT NULL UNIQUE,
    listing_id BLOB NOT NULL,
    -- That of the listing.
    organisation_id TEXT NOT NULL,
    -- That of the listing.
    revision INTEGER NOT NULL,
    -- The sender. An empty text after an erasure.
    user_id TEXT NOT NULL,
    -- Days since 1970-01-01 in UTC, and the number of the enquiry among those of the sender that day, from 1.
    day INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    message TEXT NOT NULL,
    name TEXT NOT NULL,
    phone TEXT,
    email TEXT,
    -- 'open' or 'answered'.
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    answered_at INTEGER
) STRICT;
CREATE INDEX enquiries_feed_organisation ON enquiries (organisation_id, position, n);
CREATE INDEX enquiries_organisation ON enquiries (organisation_id, id);
CREATE INDEX enquiries_organisation_status ON enquiries (organisation_id, status, id);
CREATE INDEX enquiries_listing ON enquiries (listing_id, id);
CREATE INDEX enquiries_user ON enquiries (user_id, id);
CREATE UNIQUE INDEX enquiries_slot ON enquiries (user_id, day, slot) WHERE user_id <> '';
CREATE UNIQUE INDEX enquiries_once_a_day ON enquiries (user_id, day, listing_id) WHERE user_id <> '';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('enquiries', 'enquiries_feed_organisation', '100000 100 100 1'),
    ('enquiries', 'enquiries_organisation', '100000 100 1'),
    ('enquiries', 'enquiries_organisation_status', '100000 100 50 1'),
    ('enquiries', 'enquiries_listing', '100000 5 1'),
    ('enquiries', 'enquiries_user', '100000 5 1'),
    ('enquiries', 'enquiries_slot', '100000 5 2 1'),
    ('enquiries', 'enquiries_once_a_day', '100000 5 2 1');
