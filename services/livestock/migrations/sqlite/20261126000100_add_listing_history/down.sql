DROP TRIGGER listings_status_revised;
ALTER TABLE listing_events DROP COLUMN changes;
ALTER TABLE listing_events DROP COLUMN organisation_id;
ALTER TABLE listing_events DROP COLUMN user_name;
ALTER TABLE listing_events DROP COLUMN id;
ALTER TABLE listings DROP COLUMN revision;
