-- The place of an event in the feed (docs/api/events.md) is (position, n): -1 for the creation of loads of older
-- releases, 0 for their other events, 1 for all later ones.
ALTER TABLE load_events ADD COLUMN position INTEGER NOT NULL DEFAULT 1;
-- The load after the event.
ALTER TABLE load_events ADD COLUMN revision INTEGER;
ALTER TABLE load_events ADD COLUMN reference TEXT;
-- The organisations that read the event, each in one column: the carrier unless it is the organiser, and the creator
-- unless it is a party.
ALTER TABLE load_events ADD COLUMN organiser_id TEXT;
ALTER TABLE load_events ADD COLUMN carrier_id TEXT;
ALTER TABLE load_events ADD COLUMN created_by TEXT;

CREATE TRIGGER load_events_placed AFTER INSERT ON load_events WHEN NEW.revision IS NULL
BEGIN
    UPDATE load_events SET (revision, reference, organiser_id, carrier_id, created_by) = (
        SELECT revision, document ->> 'reference', organiser_id,
            CASE WHEN carrier_id IS NOT organiser_id THEN carrier_id END,
            CASE WHEN created_by NOT IN ('', coalesce(organiser_id, ''), coalesce(carrier_id, '')) THEN created_by END
        FROM loads WHERE id = NEW.load_id
    ) WHERE n = NEW.n;
END;
