-- What is searched or sorted by as columns, the whole as its document: a page is one query.
CREATE TABLE listings (
    id UUID NOT NULL PRIMARY KEY,
    organisation_id TEXT COLLATE "C" NOT NULL,
    -- selling or buying.
    kind TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    -- The main category (2: cattle), whichever of its sub-categories the listing names.
    category INTEGER NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    organisation_key TEXT COLLATE "C" NOT NULL,
    -- Exact numbers in ten-thousandths: price, months, head.
    price BIGINT,
    age BIGINT,
    min_age BIGINT,
    max_age BIGINT,
    quantity BIGINT,
    -- Texts in lower case. Where there may be several: a line for each, with line breaks around them.
    breed TEXT COLLATE "C",
    breed_type TEXT COLLATE "C",
    breed_society TEXT COLLATE "C",
    types TEXT COLLATE "C" NOT NULL,
    sexes TEXT COLLATE "C" NOT NULL,
    additional_info TEXT COLLATE "C" NOT NULL,
    document JSON NOT NULL
);
CREATE INDEX listings_status_created ON listings (status, created_at, id);
CREATE INDEX listings_category_status_created ON listings (category, status, created_at, id);
CREATE INDEX listings_organisation_status_created ON listings (organisation_id, status, created_at, id);
