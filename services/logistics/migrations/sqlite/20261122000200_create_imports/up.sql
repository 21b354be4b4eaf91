-- Which contents an organisation has imported as a batch: the same is not imported again unawares.
CREATE TABLE imports (
    -- Empty for an administrator who acts for no organisation.
    organisation_id TEXT NOT NULL,
    -- SHA-256 in hex over the files, in whatever order.
    content_hash TEXT NOT NULL,
    imported_at INTEGER NOT NULL,
    PRIMARY KEY (organisation_id, content_hash)
) STRICT, WITHOUT ROWID;
