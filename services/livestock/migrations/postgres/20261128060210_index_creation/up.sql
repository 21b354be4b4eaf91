-- Pages in the order of creation.
CREATE INDEX IF NOT EXISTS listings_status_first_stored ON listings (status, first_stored_at, id, kind);
