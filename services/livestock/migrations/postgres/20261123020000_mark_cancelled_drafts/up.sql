-- True: the listing was cancelled as a draft. Nobody but its organisation may see it, as when it was a draft.
ALTER TABLE listings ADD COLUMN cancelled_as_draft BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE listings SET cancelled_as_draft = TRUE
    WHERE status = 'cancelled' AND NOT EXISTS (SELECT 1 FROM listing_events
        WHERE listing_id = listings.id AND (from_status = 'active' OR to_status = 'active'));

-- Replicas of the previous release cancel drafts without setting the column.
CREATE FUNCTION mark_cancelled_draft() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.cancelled_as_draft := TRUE;
    RETURN NEW;
END $$;
CREATE TRIGGER listings_cancelled_draft BEFORE UPDATE OF status ON listings
    FOR EACH ROW WHEN (OLD.status = 'draft' AND NEW.status = 'cancelled') EXECUTE FUNCTION mark_cancelled_draft();

-- A search for cancelled listings skips those of other organisations that were drafts without reading their rows.
CREATE INDEX listings_cancelled ON listings (status, created_at, id, kind, cancelled_as_draft, organisation_id)
    WHERE status = 'cancelled';
