-- Events of older releases are read by the organisations that the load has now, by the carrier from the event on that
-- made it the carrier.
UPDATE load_events e SET revision = least(numbered.revision, l.revision), reference = l.document ->> 'reference',
    organiser_id = l.organiser_id,
    carrier_id = CASE WHEN e.n >= coalesce(carried, 0) THEN nullif(l.carrier_id, l.organiser_id) END,
    created_by = other_than_parties(l.created_by, l.organiser_id, l.carrier_id)
    FROM (SELECT n, 1 + row_number() OVER (PARTITION BY load_id ORDER BY n) AS revision,
            max(n) FILTER (WHERE (changes -> 'carrierId') IS NOT NULL) OVER (PARTITION BY load_id) AS carried
            FROM load_events) AS numbered,
        loads l
    WHERE numbered.n = e.n AND l.id = e.load_id AND e.revision IS NULL;
INSERT INTO load_events (id, load_id, type, user_id, user_name, organisation_id, at, position, revision, reference,
        organiser_id, carrier_id, created_by)
    SELECT id, id, 'created', creator_id, creator_name, nullif(coalesce(created_by, organiser_id, carrier_id), ''),
        created_at, -1, 1, document ->> 'reference', organiser_id, nullif(carrier_id, organiser_id),
        other_than_parties(created_by, organiser_id, carrier_id)
    FROM loads WHERE NOT EXISTS (SELECT FROM load_events WHERE load_id = loads.id AND type = 'created')
    ORDER BY created_at, id;
CREATE INDEX IF NOT EXISTS load_events_feed ON load_events (position, n);
CREATE INDEX IF NOT EXISTS load_events_feed_organiser ON load_events (organiser_id, position, n)
    WHERE organiser_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS load_events_feed_carrier ON load_events (carrier_id, position, n) WHERE carrier_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS load_events_feed_creator ON load_events (created_by, position, n) WHERE created_by IS NOT NULL;
