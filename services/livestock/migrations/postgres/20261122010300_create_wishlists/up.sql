-- Listings that users keep an eye on, whatever becomes of them.
CREATE TABLE wishlists (
    user_id TEXT COLLATE "C" NOT NULL,
    listing_id UUID NOT NULL REFERENCES listings (id),
    added_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, listing_id)
);
