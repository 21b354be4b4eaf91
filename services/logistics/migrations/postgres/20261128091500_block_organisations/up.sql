-- The organisations that an organisation has blocked: they may not name it as organiser or carrier.
CREATE TABLE organisation_blocks (
    -- The organisation that blocks.
    organisation_id TEXT COLLATE "C" NOT NULL,
    -- The organisation that is blocked.
    blocked_id TEXT COLLATE "C" NOT NULL,
    -- UUIDv7: the order of lists.
    id UUID NOT NULL,
    -- 1 to 1,000, different for each block of an organisation: the limit on their number.
    slot INTEGER NOT NULL,
    blocked_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (organisation_id, blocked_id),
    UNIQUE (organisation_id, slot)
);
