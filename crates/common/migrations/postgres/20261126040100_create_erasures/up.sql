-- The users who uploaded the files of loads and listings, whose documents have only the names of these users.
CREATE TABLE file_uploaders (
    user_id TEXT COLLATE "C" NOT NULL,
    -- The load or listing.
    subject_id UUID NOT NULL,
    file_id UUID NOT NULL,
    PRIMARY KEY (user_id, subject_id, file_id)
);

-- Erasures of personal data that are not finished: a repeated request continues with the same id.
CREATE TABLE erasures (
    -- Base64 of the SHA-256 of the user id.
    user_hash TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- What the user id becomes.
    erased_id TEXT COLLATE "C" NOT NULL,
    started_at TIMESTAMPTZ NOT NULL
);

-- The user whose token a share has. NULL if the previous release stored the share.
ALTER TABLE due_shares ADD COLUMN IF NOT EXISTS user_id TEXT;

-- The load that the response of a key shows, if it shows files with the names of their uploaders.
ALTER TABLE idempotency_keys ADD COLUMN IF NOT EXISTS subject_id TEXT;
