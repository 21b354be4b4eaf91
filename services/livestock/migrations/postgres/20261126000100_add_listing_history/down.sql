DROP TRIGGER listings_status_revised ON listings;
DROP FUNCTION raise_listing_revision;
ALTER TABLE listing_events
    DROP COLUMN changes, DROP COLUMN organisation_id, DROP COLUMN user_name, DROP COLUMN id;
ALTER TABLE listings DROP COLUMN revision;
