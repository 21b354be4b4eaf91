-- Grows by one with each change of a listing.
ALTER TABLE listings ADD COLUMN revision BIGINT NOT NULL DEFAULT 1;

-- NULL in events that an older version wrote. The table refuses updates, so these are not filled in.
ALTER TABLE listing_events
    ADD COLUMN id UUID,
    ADD COLUMN user_name TEXT COLLATE "C",
    ADD COLUMN organisation_id TEXT COLLATE "C",
    -- Members of requests with their values before and after, as JSON.
    ADD COLUMN changes JSON;

-- The previous release changes the status of listings without a revision.
CREATE FUNCTION raise_listing_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.revision := OLD.revision + 1;
    RETURN NEW;
END $$;
CREATE TRIGGER listings_status_revised BEFORE UPDATE OF status ON listings
    FOR EACH ROW WHEN (NEW.status <> OLD.status AND NEW.revision = OLD.revision)
    EXECUTE FUNCTION raise_listing_revision();
