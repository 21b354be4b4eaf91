-- open or resolved.
ALTER TABLE reports ADD COLUMN status TEXT NOT NULL DEFAULT 'open';
-- dismissed or listing_removed; NULL while the report is open. Also the next column.
ALTER TABLE reports ADD COLUMN outcome TEXT;
ALTER TABLE reports ADD COLUMN note TEXT;

-- The queue, oldest first, by all combinations of its filters.
CREATE INDEX reports_created ON reports (created_at, id);
CREATE INDEX reports_status_created ON reports (status, created_at, id);
CREATE INDEX reports_reason_created ON reports (reason, created_at, id);
CREATE INDEX reports_status_reason_created ON reports (status, reason, created_at, id);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('reports', 'reports_created', '10000 1 1'),
    ('reports', 'reports_status_created', '10000 5000 1 1'),
    ('reports', 'reports_reason_created', '10000 3000 1 1'),
    ('reports', 'reports_status_reason_created', '10000 5000 1500 1 1');
