DROP INDEX load_events_feed;
DROP INDEX load_events_feed_organiser;
DROP INDEX load_events_feed_carrier;
DROP INDEX load_events_feed_creator;
