-- Listings that were stored while system was unavailable, and whose postcode is still to be looked up.
CREATE TABLE due_locations (
    listing_id UUID NOT NULL PRIMARY KEY REFERENCES listings (id),
    -- The next look-up. While one runs: the end of its lease.
    due_at TIMESTAMPTZ NOT NULL,
    -- Look-ups so far.
    attempts INTEGER NOT NULL
);
CREATE INDEX due_locations_due ON due_locations (due_at, listing_id);
