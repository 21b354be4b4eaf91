-- A page of a breed in any order is read from the beginning of an index that has all that a search by category, status and
-- type looks at besides; within some surroundings only listings of the breed are looked at.
DROP INDEX listings_breed;
DROP INDEX listings_breed_type;
DROP INDEX listings_status_created;
DROP INDEX listings_category_status_created;
DROP INDEX listings_status_price;
CREATE INDEX listings_breed ON listings (breed, status, created_at, id, kind, category) WHERE breed IS NOT NULL;
CREATE INDEX listings_breed_price ON listings (breed, status, price, id, kind, category) WHERE breed IS NOT NULL;
CREATE INDEX listings_breed_place
    ON listings (breed, status, band, lon, x, y, z, id, kind, category, created_at, price) WHERE breed IS NOT NULL;
CREATE INDEX listings_breed_type ON listings (breed_type, status, created_at, id, kind, category, breed)
    WHERE breed_type IS NOT NULL;
CREATE INDEX listings_breed_type_price ON listings (breed_type, status, price, id, kind, category, breed)
    WHERE breed_type IS NOT NULL;
CREATE INDEX listings_status_created ON listings (status, created_at, id, kind);
CREATE INDEX listings_category_status_created ON listings (category, status, created_at, id, kind);
CREATE INDEX listings_status_price ON listings (status, price, id, kind, category);

-- Dropped indexes took their estimates with them (20261122010400_create_reports).
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('listings', 'listings_breed', '500000 5000 4000 2 1 1 1'),
    ('listings', 'listings_breed_price', '500000 5000 4000 2 1 1 1'),
    ('listings', 'listings_breed_place', '500000 5000 4000 50 1 1 1 1 1 1 1 1 1'),
    ('listings', 'listings_breed_type', '400000 20000 15000 2 1 1 1 1'),
    ('listings', 'listings_breed_type_price', '400000 20000 15000 4 1 1 1 1'),
    ('listings', 'listings_status_created', '1000000 500000 2 1 1'),
    ('listings', 'listings_category_status_created', '1000000 200000 100000 2 1 1'),
    ('listings', 'listings_status_price', '1000000 500000 300 1 1 1');
