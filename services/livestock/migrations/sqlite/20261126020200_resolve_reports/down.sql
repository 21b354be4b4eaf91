DROP INDEX reports_created;
DROP INDEX reports_status_created;
DROP INDEX reports_reason_created;
DROP INDEX reports_status_reason_created;
ALTER TABLE reports DROP COLUMN status;
ALTER TABLE reports DROP COLUMN outcome;
ALTER TABLE reports DROP COLUMN note;
