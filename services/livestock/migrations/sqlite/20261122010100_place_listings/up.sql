-- The same table with what distances, dogs' ages and breeds are found by; the document stays last, so that reading a
-- column never reads past it.
CREATE TABLE placed_listings (
    id BLOB NOT NULL PRIMARY KEY,
    organisation_id TEXT NOT NULL,
    -- selling or buying.
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    -- The main category (2: cattle), whichever of its sub-categories the listing names.
    category INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    organisation_key TEXT NOT NULL,
    -- Exact numbers in ten-thousandths: price, months, head.
    price INTEGER,
    age INTEGER,
    min_age INTEGER,
    max_age INTEGER,
    quantity INTEGER,
    -- The day of a dog's birth as (year * 12 + month) * 32 + day, month from 0: the difference of two, divided by 32
    -- without its remainder, is months completed.
    born INTEGER,
    -- Texts in lower case. Where there may be several: a line for each, with line breaks around them.
    breed TEXT,
    breed_type TEXT,
    breed_society TEXT,
    types TEXT NOT NULL,
    sexes TEXT NOT NULL,
    additional_info TEXT NOT NULL,
    -- Where it is: tenths of a degree of latitude, rounded down; longitude in degrees; and as a point on the sphere of
    -- radius 1, so that distances are compared by multiplication alone.
    band INTEGER,
    lon REAL,
    x REAL,
    y REAL,
    z REAL,
    -- Which state of the code made these columns from the document (see store.rs); 0 before there were any.
    derived INTEGER NOT NULL DEFAULT 0,
    document TEXT NOT NULL
) STRICT;
INSERT INTO placed_listings (id, organisation_id, kind, status, category, created_at, organisation_key, price, age,
        min_age, max_age, quantity, breed, breed_type, breed_society, types, sexes, additional_info, derived, document)
    SELECT id, organisation_id, kind, status, category, created_at, organisation_key, price, age,
        min_age, max_age, quantity, breed, breed_type, breed_society, types, sexes, additional_info, 0, document
    FROM listings ORDER BY rowid;
DROP TABLE listings;
ALTER TABLE placed_listings RENAME TO listings;

CREATE INDEX listings_status_created ON listings (status, created_at, id);
CREATE INDEX listings_category_status_created ON listings (category, status, created_at, id);
CREATE INDEX listings_organisation_status_created ON listings (organisation_id, status, created_at, id);
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
    term TEXT NOT NULL PRIMARY KEY,
    spelling TEXT NOT NULL
) STRICT, WITHOUT ROWID;
