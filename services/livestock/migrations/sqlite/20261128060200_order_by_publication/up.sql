-- created_at is the time of publication from now on, and of creation for listings that were never published: its indexes
-- have the default order. The service fills in the new column, and those of published drafts, of present rows.
ALTER TABLE listings ADD COLUMN first_stored_at INTEGER NOT NULL DEFAULT 0;
-- New rows have the time of creation in both columns.
CREATE TRIGGER listings_created AFTER INSERT ON listings WHEN new.first_stored_at = 0 BEGIN
    UPDATE listings SET first_stored_at = new.created_at WHERE rowid = new.rowid;
END;
-- Pages in the order of creation.
CREATE INDEX listings_status_first_stored ON listings (status, first_stored_at, id, kind);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('listings', 'listings_status_first_stored', '1000000 500000 2 1 1');
