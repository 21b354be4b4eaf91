-- Archived files stay; their content is shared by hash and never erased.
CREATE TABLE files (
    id UUID NOT NULL PRIMARY KEY,
    bucket TEXT NOT NULL,
    kind TEXT NOT NULL,
    organisation_id TEXT,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size BIGINT NOT NULL CHECK (size > 0),
    user_id TEXT NOT NULL,
    user_name TEXT NOT NULL,
    organisations JSON NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    archived_at TIMESTAMPTZ
);
