ALTER TABLE listing_events DROP COLUMN hidden;
DROP TABLE suspended_organisations;
