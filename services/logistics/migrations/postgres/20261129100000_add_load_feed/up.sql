-- Added to the ids of transactions, so that positions go on growing after a move to another cluster.
CREATE TABLE IF NOT EXISTS feed_base (base BIGINT NOT NULL);
INSERT INTO feed_base SELECT 0 WHERE NOT EXISTS (SELECT FROM feed_base);

-- The place of an event in the feed (docs/api/events.md) is (position, n). Positions are at least the id of the
-- transaction that recorded the event: none below pg_snapshot_xmin(pg_current_snapshot()) is still to come.
ALTER TABLE load_events ADD COLUMN IF NOT EXISTS position BIGINT NOT NULL DEFAULT 0;
-- The load after the event.
ALTER TABLE load_events ADD COLUMN IF NOT EXISTS revision BIGINT;
ALTER TABLE load_events ADD COLUMN IF NOT EXISTS reference TEXT;
-- The organisations that read the event, each in one column: the carrier unless it is the organiser, and the creator
-- unless it is a party.
ALTER TABLE load_events ADD COLUMN IF NOT EXISTS organiser_id TEXT COLLATE "C";
ALTER TABLE load_events ADD COLUMN IF NOT EXISTS carrier_id TEXT COLLATE "C";
ALTER TABLE load_events ADD COLUMN IF NOT EXISTS created_by TEXT COLLATE "C";

CREATE FUNCTION other_than_parties(creator TEXT, organiser TEXT, carrier TEXT) RETURNS TEXT
    LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE WHEN creator NOT IN ('', coalesce(organiser, ''), coalesce(carrier, '')) THEN creator END $$;

CREATE FUNCTION place_load_event() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    -- Events of a load are in the order of its revisions: of two transactions at the isolation level REPEATABLE READ that
    -- change the same row, the later one gets its id after the earlier one has ended.
    IF NEW.position = 0 THEN
        NEW.position := pg_current_xact_id()::text::bigint + (SELECT base FROM feed_base);
    END IF;
    IF NEW.revision IS NULL THEN
        SELECT l.revision, l.document ->> 'reference', l.organiser_id, nullif(l.carrier_id, l.organiser_id),
                other_than_parties(l.created_by, l.organiser_id, l.carrier_id)
            INTO NEW.revision, NEW.reference, NEW.organiser_id, NEW.carrier_id, NEW.created_by
            FROM loads l WHERE l.id = NEW.load_id;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER load_events_placed BEFORE INSERT ON load_events FOR EACH ROW EXECUTE FUNCTION place_load_event();

-- Also for loads that the previous release stores.
CREATE FUNCTION record_load_creation() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO load_events (id, load_id, type, user_id, user_name, organisation_id, at, revision, reference,
            organiser_id, carrier_id, created_by)
        VALUES (NEW.id, NEW.id, 'created', NEW.creator_id, NEW.creator_name,
            nullif(coalesce(NEW.created_by, NEW.organiser_id, NEW.carrier_id), ''), NEW.created_at, NEW.revision,
            NEW.document ->> 'reference', NEW.organiser_id, nullif(NEW.carrier_id, NEW.organiser_id),
            other_than_parties(NEW.created_by, NEW.organiser_id, NEW.carrier_id));
    RETURN NULL;
END $$;
CREATE TRIGGER loads_creation_recorded AFTER INSERT ON loads FOR EACH ROW EXECUTE FUNCTION record_load_creation();

-- The triggers for earlier releases run before their update, so the row has the previous revision.
CREATE OR REPLACE FUNCTION record_load_completion() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    NEW.revision := OLD.revision + 1;
    INSERT INTO load_events (id, load_id, type, at, revision, reference, organiser_id, carrier_id, created_by)
        VALUES (new_event_id(), NEW.id, NEW.status, date_trunc('milliseconds', now()), NEW.revision,
            NEW.document ->> 'reference', NEW.organiser_id, nullif(NEW.carrier_id, NEW.organiser_id),
            other_than_parties(NEW.created_by, NEW.organiser_id, NEW.carrier_id));
    RETURN NEW;
END $$;
CREATE OR REPLACE FUNCTION record_load_acceptance() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    NEW.revision := OLD.revision + 1;
    INSERT INTO load_events (id, load_id, type, user_id, organisation_id, at, revision, reference, organiser_id,
            carrier_id, created_by)
        VALUES (new_event_id(), NEW.id, 'accepted', NEW.accepted_by, NEW.organiser_id, NEW.accepted_at, NEW.revision,
            NEW.document ->> 'reference', NEW.organiser_id, nullif(NEW.carrier_id, NEW.organiser_id),
            other_than_parties(NEW.created_by, NEW.organiser_id, NEW.carrier_id));
    RETURN NEW;
END $$;
