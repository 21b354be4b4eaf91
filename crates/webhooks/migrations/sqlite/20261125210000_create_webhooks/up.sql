-- The webhooks of organisations.
CREATE TABLE webhooks (
    -- UUIDv7, lower case with hyphens.
    id TEXT NOT NULL PRIMARY KEY,
    organisation_id TEXT NOT NULL,
    -- 1 to 20, different for each webhook of an organisation: the limit on their number. NULL once it is deleted.
    slot INTEGER,
    url TEXT NOT NULL,
    -- The subscribed events, a JSON array.
    events TEXT NOT NULL,
    description TEXT,
    -- 'active', 'disabled' or 'deleted'. Deleted ones stay until their deliveries are deleted.
    status TEXT NOT NULL,
    status_since INTEGER NOT NULL,
    disabled_reason TEXT,
    -- The first failed attempt since the last successful one.
    failing_since INTEGER,
    -- The secret that signs deliveries: whsec_ and base64.
    secret TEXT NOT NULL,
    -- The secret before the last rotation, which signs as well until then.
    previous_secret TEXT,
    previous_secret_until INTEGER,
    -- Grows by one with each change that responses show.
    revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX webhooks_organisation ON webhooks (organisation_id, slot);
CREATE INDEX webhooks_not_active ON webhooks (status) WHERE status <> 'active';

-- The outbox of these webhooks: one row for each event and webhook, written in the transaction of the event.
CREATE TABLE webhook_deliveries (
    -- The id of the event, the same at all webhooks: UUIDv7.
    id BLOB NOT NULL,
    webhook_id TEXT NOT NULL,
    event TEXT NOT NULL,
    -- 'pending', 'delivered' or 'failed'.
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    -- While pending: since when. Afterwards: when it was delivered or failed.
    pending_since INTEGER NOT NULL,
    -- The next attempt. NULL after delivery or failure.
    due_at INTEGER,
    -- The end of the lease of the replica that delivers it.
    claimed_until INTEGER,
    delivered_at INTEGER,
    -- Why the last attempt failed.
    last_error TEXT,
    -- The message as JSON, as it is sent.
    body TEXT NOT NULL,
    PRIMARY KEY (webhook_id, id)
) STRICT;
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (pending_since) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_turns ON webhook_deliveries (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_settled ON webhook_deliveries (pending_since) WHERE due_at IS NULL;
CREATE INDEX webhook_deliveries_status ON webhook_deliveries (webhook_id, status, id);
