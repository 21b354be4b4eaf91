DROP TABLE listing_events;
DROP FUNCTION refuse_change;
