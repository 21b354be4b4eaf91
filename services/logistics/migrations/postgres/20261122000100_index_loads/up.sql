-- Each service has a schema and looks in no other, but an extension is installed once for the whole database: another
-- service may have it in its own, or be about to.
DO $$
DECLARE home name;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('drover pg_trgm'));
    -- With Citus, CREATE EXTENSION IF NOT EXISTS needs the owner of an extension that exists.
    IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
        CREATE EXTENSION pg_trgm;
    END IF;
    SELECT nspname INTO STRICT home FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace
        WHERE extname = 'pg_trgm';
    EXECUTE format('CREATE INDEX loads_search_text ON loads USING gin (search_text %I.gin_trgm_ops)', home);
END $$;
CREATE INDEX loads_organiser_status ON loads (organiser_id, status, delivery_at, id);
CREATE INDEX loads_carrier_status ON loads (carrier_id, status, delivery_at, id);
CREATE INDEX loads_organiser_completed ON loads (organiser_id, completed_at, id) WHERE completed_at IS NOT NULL;
CREATE INDEX loads_carrier_completed ON loads (carrier_id, completed_at, id) WHERE completed_at IS NOT NULL;
CREATE INDEX loads_completed ON loads (completed_at, id) WHERE completed_at IS NOT NULL;
