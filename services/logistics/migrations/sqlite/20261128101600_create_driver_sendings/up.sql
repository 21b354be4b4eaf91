-- The last 600 notifications to drivers that each organisation sent: it sends at most as many in ten minutes.
CREATE TABLE IF NOT EXISTS driver_sendings (
    organisation_id TEXT NOT NULL,
    -- Counts the notifications of the organisation, from 1.
    n INTEGER NOT NULL,
    -- Milliseconds since 1970.
    at INTEGER NOT NULL,
    PRIMARY KEY (organisation_id, n)
) STRICT, WITHOUT ROWID;
