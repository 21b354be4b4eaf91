CREATE INDEX IF NOT EXISTS files_without_name_key ON files (id) WHERE name_key IS NULL;

-- The order of lists, with and without a type, for an organisation and for all of them.
CREATE INDEX IF NOT EXISTS files_owner_kind ON files (organisation_id, kind, bucket, created_at, id)
    WHERE archived_at IS NULL;
CREATE INDEX IF NOT EXISTS files_owner_bucket ON files (organisation_id, bucket, created_at, id)
    WHERE archived_at IS NULL;
CREATE INDEX IF NOT EXISTS files_kind ON files (kind, bucket, created_at, id) WHERE archived_at IS NULL;
CREATE INDEX IF NOT EXISTS files_bucket ON files (bucket, created_at, id) WHERE archived_at IS NULL;
CREATE INDEX IF NOT EXISTS files_archived_owner_kind ON files (organisation_id, kind, bucket, created_at, id)
    WHERE archived_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS files_archived_owner_bucket ON files (organisation_id, bucket, created_at, id)
    WHERE archived_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS files_archived_kind ON files (kind, bucket, created_at, id) WHERE archived_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS files_archived_bucket ON files (bucket, created_at, id) WHERE archived_at IS NOT NULL;
-- The files that belong to a user alone.
CREATE INDEX IF NOT EXISTS files_user ON files (user_id, created_at, id) WHERE organisation_id IS NULL;
-- Whether a content belongs to a file, and to one that is not archived.
CREATE INDEX IF NOT EXISTS files_hash ON files (hash, archived_at);

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
    -- Another service may have installed the extension in its own schema, which this role may not use. Searches are the
    -- same without the index, only slower.
    IF has_schema_privilege(home, 'USAGE') THEN
        EXECUTE format(
            'CREATE INDEX IF NOT EXISTS files_name_key ON files USING gin (name_key %I.gin_trgm_ops)', home);
    ELSE
        RAISE WARNING 'this role may not use the schema %, which has pg_trgm: searches for words have no index', home;
    END IF;
END $$;
