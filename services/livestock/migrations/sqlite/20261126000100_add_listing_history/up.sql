-- Grows by one with each change of a listing.
ALTER TABLE listings ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;

-- NULL in events that an older version wrote. The table refuses updates, so these are not filled in.
ALTER TABLE listing_events ADD COLUMN id BLOB;
ALTER TABLE listing_events ADD COLUMN user_name TEXT;
ALTER TABLE listing_events ADD COLUMN organisation_id TEXT;
-- Members of requests with their values before and after, as JSON.
ALTER TABLE listing_events ADD COLUMN changes TEXT;

-- The previous release changes the status of listings without a revision.
CREATE TRIGGER listings_status_revised AFTER UPDATE OF status ON listings
    WHEN NEW.status <> OLD.status AND NEW.revision = OLD.revision
BEGIN
    UPDATE listings SET revision = revision + 1 WHERE id = NEW.id;
END;
