-- Ids of events that the previous release causes are UUIDv7, like all others.
CREATE FUNCTION new_event_id() RETURNS UUID LANGUAGE sql VOLATILE AS $$
    SELECT (substr(ms, 1, 8) || '-' || substr(ms, 9) || '-7' || substr(gen_random_uuid()::text, 16))::uuid
    FROM (SELECT lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') AS ms) AS now
$$;
CREATE OR REPLACE FUNCTION record_load_completion() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    NEW.revision := OLD.revision + 1;
    INSERT INTO load_events (id, load_id, type, at)
        VALUES (new_event_id(), NEW.id, NEW.status, date_trunc('milliseconds', now()));
    RETURN NEW;
END $$;
CREATE OR REPLACE FUNCTION record_load_acceptance() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    NEW.revision := OLD.revision + 1;
    INSERT INTO load_events (id, load_id, type, user_id, organisation_id, at)
        VALUES (new_event_id(), NEW.id, 'accepted', NEW.accepted_by, NEW.organiser_id, NEW.accepted_at);
    RETURN NEW;
END $$;
