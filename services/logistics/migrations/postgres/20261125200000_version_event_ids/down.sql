CREATE OR REPLACE FUNCTION record_load_completion() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    NEW.revision := OLD.revision + 1;
    INSERT INTO load_events (id, load_id, type, at)
        VALUES (gen_random_uuid(), NEW.id, NEW.status, date_trunc('milliseconds', now()));
    RETURN NEW;
END $$;
CREATE OR REPLACE FUNCTION record_load_acceptance() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    NEW.revision := OLD.revision + 1;
    INSERT INTO load_events (id, load_id, type, user_id, organisation_id, at)
        VALUES (gen_random_uuid(), NEW.id, 'accepted', NEW.accepted_by, NEW.organiser_id, NEW.accepted_at);
    RETURN NEW;
END $$;
DROP FUNCTION new_event_id();
