DROP INDEX listing_events_feed_owner;
