ALTER TABLE reports
    -- open or resolved.
    ADD COLUMN status TEXT COLLATE "C" NOT NULL DEFAULT 'open',
    -- dismissed or listing_removed; NULL while the report is open. Also the next column.
    ADD COLUMN outcome TEXT COLLATE "C",
    ADD COLUMN note TEXT COLLATE "C";

-- The queue, oldest first, by all combinations of its filters.
CREATE INDEX reports_created ON reports (created_at, id);
CREATE INDEX reports_status_created ON reports (status, created_at, id);
CREATE INDEX reports_reason_created ON reports (reason, created_at, id);
CREATE INDEX reports_status_reason_created ON reports (status, reason, created_at, id);
