DROP INDEX listings_breed, listings_breed_type, listings_status_created, listings_category_status_created,
    listings_status_price, listings_breed_price, listings_breed_place, listings_breed_type_price;
CREATE INDEX listings_breed ON listings (breed, status, created_at, id, price, kind) WHERE breed IS NOT NULL;
CREATE INDEX listings_breed_type ON listings (breed_type, status, created_at, id, price, kind, breed)
    WHERE breed_type IS NOT NULL;
CREATE INDEX listings_status_created ON listings (status, created_at, id);
CREATE INDEX listings_category_status_created ON listings (category, status, created_at, id);
CREATE INDEX listings_status_price ON listings (status, price, id);
