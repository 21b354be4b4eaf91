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
CREATE INDEX IF NOT EXISTS due_shares_user ON due_shares (user_id, id) WHERE user_id IS NOT NULL;

-- The keys of a user are those whose caller begins with the user id. The primary key has them in the order of the
-- database's collation.
CREATE INDEX IF NOT EXISTS idempotency_keys_user ON idempotency_keys (caller text_pattern_ops);

-- The load that the response of a key shows, if it shows files with the names of their uploaders.
ALTER TABLE idempotency_keys ADD COLUMN IF NOT EXISTS subject_id TEXT;
CREATE INDEX IF NOT EXISTS idempotency_keys_subject ON idempotency_keys (subject_id) WHERE subject_id IS NOT NULL;
