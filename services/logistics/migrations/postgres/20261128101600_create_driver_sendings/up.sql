-- The last 600 notifications to drivers that each organisation sent: it sends at most as many in ten minutes.
CREATE TABLE IF NOT EXISTS driver_sendings (
    organisation_id TEXT COLLATE "C" NOT NULL,
    -- Counts the notifications of the organisation, from 1.
    n BIGINT NOT NULL,
    at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (organisation_id, n)
);
