DROP TABLE match_events;
DROP TRIGGER listing_events_completed ON listing_events;
DROP FUNCTION complete_listing_event;
DROP TRIGGER listing_events_stay ON listing_events;
ALTER TABLE listing_events ALTER COLUMN position SET DEFAULT (pg_current_xact_id()::text::bigint);
ALTER TABLE listing_events DROP COLUMN owner_id, DROP COLUMN revision;
CREATE TRIGGER listing_events_stay BEFORE UPDATE ON listing_events
    FOR EACH ROW WHEN (NEW.user_id NOT LIKE 'erased-%'
        OR to_jsonb(NEW) - '{user_id,user_name}'::text[] <> to_jsonb(OLD) - '{user_id,user_name}'::text[])
    EXECUTE FUNCTION refuse_change();
DROP FUNCTION next_feed_position;
DROP TABLE feed_base;
