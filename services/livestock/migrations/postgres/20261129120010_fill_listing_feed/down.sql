DROP INDEX listing_events_feed_owner;
DROP INDEX listing_events_feed;
