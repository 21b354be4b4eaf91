DROP TABLE listing_events;
