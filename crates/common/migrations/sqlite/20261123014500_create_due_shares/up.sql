-- The outbox of shares: files that the system service is still to share because of a stored load or listing.
-- A row is written in the transaction of the load or listing and deleted as soon as the files are shared.
CREATE TABLE due_shares (
    id BLOB NOT NULL PRIMARY KEY,
    -- The load or listing that the files are shared for.
    subject_id BLOB NOT NULL,
    -- Whose request it was, `organisation …` or `user …`: tenants take turns.
    tenant TEXT NOT NULL,
    -- Ids of the files, a JSON array.
    file_ids TEXT NOT NULL,
    -- Ids of the organisations that the files are shared with, a JSON array.
    organisations TEXT NOT NULL,
    -- The bearer token of the request: a live credential, which each retry needs.
    token TEXT NOT NULL,
    -- No retry can succeed after this time.
    token_expires_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    -- The next attempt.
    due_at INTEGER NOT NULL,
    -- The lease: until then one request or replica makes an attempt and nobody else may.
    claimed_until INTEGER,
    attempts INTEGER NOT NULL
) STRICT;
CREATE INDEX due_shares_tenant ON due_shares (tenant, due_at);
CREATE INDEX due_shares_due ON due_shares (due_at);
