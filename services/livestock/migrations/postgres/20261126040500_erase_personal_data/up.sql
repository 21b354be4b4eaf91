-- The export and the erasure of personal data find the records of a user by these.
CREATE INDEX IF NOT EXISTS listing_events_user ON listing_events (user_id, n);
CREATE INDEX IF NOT EXISTS reports_user ON reports (user_id, id);

-- Events stay append-only, but an erasure may replace their user.
DROP TRIGGER listing_events_stay ON listing_events;
CREATE TRIGGER listing_events_remain BEFORE DELETE OR TRUNCATE ON listing_events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER listing_events_stay BEFORE UPDATE ON listing_events
    FOR EACH ROW WHEN (NEW.user_id NOT LIKE 'erased-%'
        OR to_jsonb(NEW) - '{user_id,user_name}'::text[] <> to_jsonb(OLD) - '{user_id,user_name}'::text[])
    EXECUTE FUNCTION refuse_change();
