-- The users who uploaded the files of loads and listings, whose documents have only the names of these users.
CREATE TABLE file_uploaders (
    user_id TEXT NOT NULL,
    -- The load or listing.
    subject_id BLOB NOT NULL,
    file_id BLOB NOT NULL,
    PRIMARY KEY (user_id, subject_id, file_id)
) STRICT, WITHOUT ROWID;

-- Erasures of personal data that are not finished: a repeated request continues with the same id.
CREATE TABLE erasures (
    -- Base64 of the SHA-256 of the user id.
    user_hash TEXT NOT NULL PRIMARY KEY,
    -- What the user id becomes.
    erased_id TEXT NOT NULL,
    started_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The user whose token a share has. NULL if the previous release stored the share.
ALTER TABLE due_shares ADD COLUMN user_id TEXT;
CREATE INDEX due_shares_user ON due_shares (user_id, id) WHERE user_id IS NOT NULL;

-- The load that the response of a key shows, if it shows files with the names of their uploaders.
ALTER TABLE idempotency_keys ADD COLUMN subject_id TEXT;
CREATE INDEX idempotency_keys_subject ON idempotency_keys (subject_id) WHERE subject_id IS NOT NULL;
