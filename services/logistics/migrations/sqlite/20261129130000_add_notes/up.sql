-- The text of a note. NULL for other events.
ALTER TABLE load_events ADD COLUMN text TEXT;
-- The last 60 notes of each user, who writes at most as many in an hour.
CREATE TABLE user_notes (
    user_id TEXT NOT NULL,
    -- Counts the notes of the user, from 1.
    n INTEGER NOT NULL,
    -- Milliseconds since 1970.
    at INTEGER NOT NULL,
    PRIMARY KEY (user_id, n)
) STRICT, WITHOUT ROWID;
