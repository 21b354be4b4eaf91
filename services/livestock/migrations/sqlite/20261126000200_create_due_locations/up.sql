-- Listings that were stored while system was unavailable, and whose postcode is still to be looked up.
CREATE TABLE due_locations (
    listing_id BLOB NOT NULL PRIMARY KEY REFERENCES listings (id),
    -- The next look-up. While one runs: the end of its lease.
    due_at INTEGER NOT NULL,
    -- Look-ups so far.
    attempts INTEGER NOT NULL
) STRICT;
CREATE INDEX due_locations_due ON due_locations (due_at, listing_id);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('due_locations', 'sqlite_autoindex_due_locations_1', '1000 1'),
    ('due_locations', 'due_locations_due', '1000 1 1');
