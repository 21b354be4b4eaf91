-- Every change of a listing's status. Written with it, never changed: what follows the listings reads on from the last
-- one that it knows.
CREATE TABLE listing_events (
    n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The transaction that wrote it: numbers are given before transactions commit, but none below
    -- pg_snapshot_xmin(pg_current_snapshot()) is still to come. After a move to another cluster old ones mean nothing.
    position BIGINT NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
    listing_id UUID NOT NULL REFERENCES listings (id),
    user_id TEXT COLLATE "C" NOT NULL,
    -- Nothing: the listing was created.
    from_status TEXT COLLATE "C",
    to_status TEXT COLLATE "C" NOT NULL,
    -- What was given for closing it.
    reason TEXT COLLATE "C",
    at TIMESTAMPTZ NOT NULL
);
CREATE INDEX listing_events_listing ON listing_events (listing_id, n);
CREATE INDEX listing_events_position ON listing_events (position, n, listing_id);
INSERT INTO listing_events (listing_id, user_id, to_status, at)
    SELECT id, document ->> 'userId', status, created_at FROM listings ORDER BY created_at, id;
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
CREATE TRIGGER listing_events_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON listing_events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
