-- The organisations that an organisation has blocked: they may not name it as organiser or carrier.
CREATE TABLE organisation_blocks (
    -- The organisation that blocks.
    organisation_id TEXT NOT NULL,
    -- The organisation that is blocked.
    blocked_id TEXT NOT NULL,
    -- UUIDv7: the order of lists.
    id BLOB NOT NULL,
    -- 1 to 1,000, different for each block of an organisation: the limit on their number.
    slot INTEGER NOT NULL,
    -- In milliseconds since 1970.
    blocked_at INTEGER NOT NULL,
    PRIMARY KEY (organisation_id, blocked_id),
    UNIQUE (organisation_id, slot)
) STRICT, WITHOUT ROWID;
