-- The service accounts of organisations, at most 20 of each. A deleted one has no row.
CREATE TABLE IF NOT EXISTS service_accounts (
    -- UUIDv7, the client id.
    id UUID NOT NULL PRIMARY KEY,
    organisation_id TEXT COLLATE "C" NOT NULL,
    -- As in the token of the member who changed the account last.
    organisation_name TEXT,
    -- 1 to 20, different for each account of an organisation: the limit on their number.
    slot INTEGER NOT NULL,
    name TEXT NOT NULL,
    -- A JSON array of 'viewer' and 'weighbridge'.
    roles TEXT NOT NULL,
    -- A JSON array of hashes of secrets, the present one first; earlier ones with the time until which they work.
    secrets TEXT NOT NULL,
    expires_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL,
    last_used_at TIMESTAMPTZ
);
CREATE UNIQUE INDEX IF NOT EXISTS service_accounts_organisation ON service_accounts (organisation_id, slot);
