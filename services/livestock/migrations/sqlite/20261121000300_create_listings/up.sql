-- What is searched or sorted by as columns, the whole as its document: a page is one query.
CREATE TABLE listings (
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
    -- Texts in lower case. Where there may be several: a line for each, with line breaks around them.
    breed TEXT,
    breed_type TEXT,
    breed_society TEXT,
    types TEXT NOT NULL,
    sexes TEXT NOT NULL,
    additional_info TEXT NOT NULL,
    document TEXT NOT NULL
) STRICT;
CREATE INDEX listings_status_created ON listings (status, created_at, id);
CREATE INDEX listings_category_status_created ON listings (category, status, created_at, id);
CREATE INDEX listings_organisation_status_created ON listings (organisation_id, status, created_at, id);
