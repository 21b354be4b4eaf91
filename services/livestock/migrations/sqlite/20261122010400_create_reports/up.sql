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

-- What a million listings of 20,000 organisations look like: without statistics ten listings of a status are supposed.
ANALYZE sqlite_schema;
DELETE FROM sqlite_stat1 WHERE tbl IN ('listings', 'listing_events', 'wishlists', 'reports');
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('listings', 'sqlite_autoindex_listings_1', '1000000 1'),
    ('listings', 'listings_status_created', '1000000 500000 2 1'),
    ('listings', 'listings_category_status_created', '1000000 200000 100000 2 1'),
    ('listings', 'listings_organisation_status_created', '1000000 50 40 1 1'),
    ('listings', 'listings_breed', '500000 5000 4000 2 1 1 1'),
    ('listings', 'listings_breed_type', '400000 20000 15000 2 1 1 1 1'),
    ('listings', 'listings_status_price', '1000000 500000 300 1'),
    ('listings', 'listings_status_age', '1000000 500000 8000 1'),
    ('listings', 'listings_status_born', '50000 25000 10 1'),
    ('listings', 'listings_status_quantity', '1000000 500000 4000 1'),
    ('listings', 'listings_status_organisation', '1000000 500000 50 1'),
    ('listings', 'listings_breed_society', '200000 5000 4000 2 1'),
    ('listings', 'listings_status_place', '1000000 500000 5000 1 1 1 1 1 1 1 1 1'),
    ('listings', 'listings_derived', '1000000 1000000'),
    ('listing_events', 'listing_events_listing', '2000000 2 1'),
    ('wishlists', 'wishlists', '100000 20 1'),
    ('reports', 'sqlite_autoindex_reports_1', '10000 1'),
    ('reports', 'sqlite_autoindex_reports_2', '10000 5 1'),
    ('reports', 'reports_listing_created', '10000 5 1 1');
