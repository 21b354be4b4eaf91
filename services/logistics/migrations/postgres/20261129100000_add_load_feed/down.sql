DROP TRIGGER loads_creation_recorded ON loads;
DROP FUNCTION record_load_creation;
DROP TRIGGER load_events_placed ON load_events;
DROP FUNCTION place_load_event;
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
DELETE FROM load_events WHERE type IN ('created', 'released');
ALTER TABLE load_events DROP COLUMN position, DROP COLUMN revision, DROP COLUMN reference, DROP COLUMN organiser_id,
    DROP COLUMN carrier_id, DROP COLUMN created_by;
DROP FUNCTION other_than_parties;
DROP TABLE feed_base;
