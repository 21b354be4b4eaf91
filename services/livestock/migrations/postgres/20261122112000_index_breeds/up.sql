-- A page of a breed in any order is read from the beginning of an index that has all that a search by category, status and
-- type looks at besides; within some surroundings only listings of the breed are looked at.
DROP INDEX listings_breed, listings_breed_type, listings_status_created, listings_category_status_created,
    listings_status_price;
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
