-- The queue, oldest first, by all combinations of its filters.
CREATE INDEX IF NOT EXISTS reports_created ON reports (created_at, id);
CREATE INDEX IF NOT EXISTS reports_status_created ON reports (status, created_at, id);
CREATE INDEX IF NOT EXISTS reports_reason_created ON reports (reason, created_at, id);
CREATE INDEX IF NOT EXISTS reports_status_reason_created ON reports (status, reason, created_at, id);
