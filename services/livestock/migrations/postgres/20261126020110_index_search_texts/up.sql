-- As in logistics (20261122000100_index_loads): an extension is installed once for the whole database, so another
-- service may have it in its schema, or be about to install it.
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
    -- Another service may have installed the extension in its own schema, which this role may not use. Searches are the
    -- same without the index, only slower.
    IF has_schema_privilege(home, 'USAGE') THEN
        EXECUTE format(
            'CREATE INDEX IF NOT EXISTS listings_search_text ON listings USING gin (search_text %I.gin_trgm_ops)', home);
    ELSE
        RAISE WARNING 'this role may not use the schema %, which has pg_trgm: searches for words have no index', home;
    END IF;
END $$;
