DROP INDEX listings_breed;
DROP INDEX listings_breed_type;
DROP INDEX listings_status_created;
DROP INDEX listings_category_status_created;
DROP INDEX listings_status_price;
DROP INDEX listings_breed_price;
DROP INDEX listings_breed_place;
DROP INDEX listings_breed_type_price;
CREATE INDEX listings_breed ON listings (breed, status, created_at, id, price, kind) WHERE breed IS NOT NULL;
CREATE INDEX listings_breed_type ON listings (breed_type, status, created_at, id, price, kind, breed)
    WHERE breed_type IS NOT NULL;
CREATE INDEX listings_status_created ON listings (status, created_at, id);
CREATE INDEX listings_category_status_created ON listings (category, status, created_at, id);
CREATE INDEX listings_status_price ON listings (status, price, id);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('listings', 'listings_breed', '500000 5000 4000 2 1 1 1'),
    ('listings', 'listings_breed_type', '400000 20000 15000 2 1 1 1 1'),
    ('listings', 'listings_status_created', '1000000 500000 2 1'),
    ('listings', 'listings_category_status_created', '1000000 200000 100000 2 1'),
    ('listings', 'listings_status_price', '1000000 500000 300 1');
