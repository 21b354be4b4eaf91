-- Every change of a listing's status. Written with it, never changed: what follows the listings reads on from the last
-- position that it knows.
CREATE TABLE listing_events (
    -- The transaction that wrote it: numbers are given before transactions commit, but none below
    -- pg_snapshot_xmin(pg_current_snapshot()) is still to come.
    position BIGINT NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
    listing_id UUID NOT NULL REFERENCES listings (id),
    user_id TEXT COLLATE "C" NOT NULL,
    -- Nothing: the listing was created.
    from_status TEXT COLLATE "C",
    to_status TEXT COLLATE "C" NOT NULL,
    -- What was given for closing it.
    reason TEXT COLLATE "C",
    at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (listing_id, position)
);
CREATE INDEX listing_events_position ON listing_events (position, listing_id);
INSERT INTO listing_events (listing_id, user_id, to_status, at)
    SELECT id, document ->> 'userId', status, created_at FROM listings ORDER BY created_at, id;
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
CREATE TRIGGER listing_events_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON listing_events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
