-- The listings of each degree of latitude by two degrees of longitude, in the order of their creation. A page of the
-- newest within some distance reads a few cells from their ends. The expressions are those of the search (newest_within.rs).
-- A million listings take 7 s and 160 MB.
CREATE INDEX listings_status_cell ON listings
    (status, (band + 900) / 10, CAST((lon + 180.0) / 2.0 AS INTEGER), created_at, id, kind, category, x, y, z);
CREATE INDEX listings_breed_cell ON listings
    (breed, status, (band + 900) / 10, CAST((lon + 180.0) / 2.0 AS INTEGER), created_at, id, kind, category, x, y, z)
    WHERE breed IS NOT NULL;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('listings', 'listings_status_cell', '1000000 500000 50000 10000 2 1 1 1 1 1 1'),
    ('listings', 'listings_breed_cell', '500000 5000 4000 400 100 2 1 1 1 1 1 1');
