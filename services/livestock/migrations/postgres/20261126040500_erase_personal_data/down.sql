DROP TRIGGER listing_events_stay ON listing_events;
DROP TRIGGER listing_events_remain ON listing_events;
CREATE TRIGGER listing_events_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON listing_events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
DROP INDEX reports_user;
DROP INDEX listing_events_user;
