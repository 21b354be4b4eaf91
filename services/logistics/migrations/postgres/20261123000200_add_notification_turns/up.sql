-- The organisation that sent it, empty for an administrator without one: organisations take turns in delivery.
ALTER TABLE notifications ADD COLUMN IF NOT EXISTS organisation_id TEXT COLLATE "C" NOT NULL DEFAULT '';
-- TRUE: while this is pending, no other of the same load, event and recipient is stored. Else NULL:
-- for older ones and those that are delivered again.
ALTER TABLE notifications ADD COLUMN IF NOT EXISTS collapses BOOLEAN;
CREATE UNIQUE INDEX IF NOT EXISTS notifications_collapsed ON notifications (load_id, event, recipient_id)
    WHERE due_at IS NOT NULL AND collapses IS NOT NULL;
CREATE INDEX IF NOT EXISTS notifications_pending_of ON notifications (load_id, event, recipient_id) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS notifications_turns ON notifications (organisation_id, due_at) WHERE due_at IS NOT NULL;
-- Delivered and failed ones, to be pruned.
CREATE INDEX IF NOT EXISTS notifications_settled ON notifications (pending_since) WHERE due_at IS NULL;
