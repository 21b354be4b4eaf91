-- The text of a note. NULL for other events.
ALTER TABLE load_events ADD COLUMN IF NOT EXISTS text TEXT;
-- The last 60 notes of each user, who writes at most as many in an hour.
CREATE TABLE IF NOT EXISTS user_notes (
    user_id TEXT COLLATE "C" NOT NULL,
    -- Counts the notes of the user, from 1.
    n BIGINT NOT NULL,
    at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (user_id, n)
);
