-- Listings that users keep an eye on, whatever becomes of them.
CREATE TABLE wishlists (
    user_id TEXT NOT NULL,
    listing_id BLOB NOT NULL REFERENCES listings (id),
    added_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, listing_id)
) STRICT, WITHOUT ROWID;
