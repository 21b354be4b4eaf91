-- The organisation that sent it, empty for an administrator without one: organisations take turns in delivery.
ALTER TABLE notifications ADD COLUMN organisation_id TEXT NOT NULL DEFAULT '';
-- 1: while this is pending, no other of the same load, event and recipient is stored. Else NULL:
-- for older ones and those that are delivered again.
ALTER TABLE notifications ADD COLUMN collapses INTEGER;
CREATE UNIQUE INDEX notifications_collapsed ON notifications (load_id, event, recipient_id)
    WHERE due_at IS NOT NULL AND collapses IS NOT NULL;
CREATE INDEX notifications_pending_of ON notifications (load_id, event, recipient_id) WHERE due_at IS NOT NULL;
CREATE INDEX notifications_turns ON notifications (organisation_id, due_at) WHERE due_at IS NOT NULL;
-- Delivered and failed ones, to be pruned.
CREATE INDEX notifications_settled ON notifications (pending_since) WHERE due_at IS NULL;
