-- The outbox: what is to be told of loads, written in the transaction of what is told.
CREATE TABLE notifications (
    id BLOB NOT NULL PRIMARY KEY,
    load_id BLOB NOT NULL,
    event TEXT NOT NULL,
    recipient_id TEXT NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    -- When it was recorded, or made pending once more.
    pending_since INTEGER NOT NULL,
    -- The next try; none once it is delivered or failed.
    due_at INTEGER,
    -- Until then somebody delivers it and nobody else may.
    claimed_until INTEGER,
    delivered_at INTEGER,
    -- Why the last try failed, for operators.
    last_error TEXT,
    -- The event as it is sent, whatever becomes of the load.
    body TEXT NOT NULL
) STRICT;
CREATE INDEX notifications_due ON notifications (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX notifications_pending ON notifications (pending_since) WHERE due_at IS NOT NULL;
CREATE INDEX notifications_load ON notifications (load_id, id);
