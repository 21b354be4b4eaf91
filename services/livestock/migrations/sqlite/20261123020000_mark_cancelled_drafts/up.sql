-- 1: the listing was cancelled as a draft. Nobody but its organisation may see it, as when it was a draft.
ALTER TABLE listings ADD COLUMN cancelled_as_draft INTEGER NOT NULL DEFAULT 0;
UPDATE listings SET cancelled_as_draft = 1
    WHERE status = 'cancelled' AND NOT EXISTS (SELECT 1 FROM listing_events
        WHERE listing_id = listings.id AND (from_status = 'active' OR to_status = 'active'));

-- Replicas of the previous release cancel drafts without setting the column.
CREATE TRIGGER listings_cancelled_draft AFTER UPDATE OF status ON listings
    WHEN OLD.status = 'draft' AND NEW.status = 'cancelled' AND NEW.cancelled_as_draft = 0
BEGIN
    UPDATE listings SET cancelled_as_draft = 1 WHERE id = NEW.id;
END;

-- A search for cancelled listings skips those of other organisations that were drafts without reading their rows.
CREATE INDEX listings_cancelled ON listings (status, created_at, id, kind, cancelled_as_draft, organisation_id)
    WHERE status = 'cancelled';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('listings', 'listings_cancelled', '200000 200000 2 1 1 1 1');
