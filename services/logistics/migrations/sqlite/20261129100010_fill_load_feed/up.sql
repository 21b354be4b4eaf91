-- Events of older releases are read by the organisations that the load has now, by the carrier from the event on that
-- made it the carrier.
UPDATE load_events SET position = 0, revision = min(numbered.revision, l.revision), reference = l.document ->> 'reference',
    organiser_id = l.organiser_id,
    carrier_id = CASE WHEN l.carrier_id IS NOT l.organiser_id AND load_events.n >= coalesce(carried, 0) THEN l.carrier_id END,
    created_by = CASE WHEN l.created_by NOT IN ('', coalesce(l.organiser_id, ''), coalesce(l.carrier_id, ''))
        THEN l.created_by END
    FROM (SELECT n, 1 + row_number() OVER (PARTITION BY load_id ORDER BY n) AS revision,
            max(n) FILTER (WHERE (changes -> 'carrierId') IS NOT NULL) OVER (PARTITION BY load_id) AS carried
            FROM load_events) AS numbered,
        loads l
    WHERE numbered.n = load_events.n AND l.id = load_events.load_id;
INSERT INTO load_events (id, load_id, type, user_id, user_name, organisation_id, at, position, revision, reference,
        organiser_id, carrier_id, created_by)
    SELECT id, id, 'created', creator_id, creator_name, nullif(coalesce(created_by, organiser_id, carrier_id), ''),
        created_at, -1, 1, document ->> 'reference', organiser_id,
        CASE WHEN carrier_id IS NOT organiser_id THEN carrier_id END,
        CASE WHEN created_by NOT IN ('', coalesce(organiser_id, ''), coalesce(carrier_id, '')) THEN created_by END
    FROM loads WHERE n NOT IN (SELECT n FROM staged_loads) ORDER BY created_at, id;
CREATE INDEX load_events_feed ON load_events (position, n);
CREATE INDEX load_events_feed_organiser ON load_events (organiser_id, position, n) WHERE organiser_id IS NOT NULL;
CREATE INDEX load_events_feed_carrier ON load_events (carrier_id, position, n) WHERE carrier_id IS NOT NULL;
CREATE INDEX load_events_feed_creator ON load_events (created_by, position, n) WHERE created_by IS NOT NULL;
