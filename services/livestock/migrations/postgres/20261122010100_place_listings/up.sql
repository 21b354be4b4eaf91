ALTER TABLE listings
    -- The day of a dog's birth as (year * 12 + month) * 32 + day, month from 0: the difference of two, divided by 32
    -- without its remainder, is months completed.
    ADD COLUMN born BIGINT,
    -- Where it is: tenths of a degree of latitude, rounded down; longitude in degrees; and as a point on the sphere of
    -- radius 1, so that distances are compared by multiplication alone.
    ADD COLUMN band INTEGER,
    ADD COLUMN lon DOUBLE PRECISION,
    ADD COLUMN x DOUBLE PRECISION,
    ADD COLUMN y DOUBLE PRECISION,
    ADD COLUMN z DOUBLE PRECISION,
    -- Which state of the code made these columns from the document (see store.rs); 0 before there were any.
    ADD COLUMN derived INTEGER NOT NULL DEFAULT 0;

-- With the price and the type, so that a rare breed by price is sorted from the index alone.
CREATE INDEX listings_breed ON listings (breed, status, created_at, id, price, kind) WHERE breed IS NOT NULL;
CREATE INDEX listings_breed_type ON listings (breed_type, status, created_at, id, price, kind, breed)
    WHERE breed_type IS NOT NULL;
CREATE INDEX listings_status_price ON listings (status, price, id);
CREATE INDEX listings_status_age ON listings (status, age, id);
CREATE INDEX listings_status_born ON listings (status, born, id) WHERE born IS NOT NULL;
CREATE INDEX listings_status_quantity ON listings (status, quantity, id);
CREATE INDEX listings_status_organisation ON listings (status, organisation_key, id);
CREATE INDEX listings_breed_society ON listings (breed_society, status, created_at, id) WHERE breed_society IS NOT NULL;
-- With all that a search in some surroundings looks at and sorts by, if it has no other filter: of a large part of the
-- listings none is read that is not shown.
CREATE INDEX listings_status_place
    ON listings (status, band, lon, x, y, z, id, kind, category, created_at, price);
CREATE INDEX listings_derived ON listings (derived);

-- How a breed or society was written first, for those in lower case above; and each type that there was, after
-- `type` and a line break.
CREATE TABLE spellings (
    term TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    spelling TEXT COLLATE "C" NOT NULL
);
