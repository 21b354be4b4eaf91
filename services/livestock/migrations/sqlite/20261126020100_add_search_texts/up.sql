-- All that a free-text query compares, in lower case, a line for each field. NULL: the previous release wrote the
-- listing, and the service has not filled the column yet.
ALTER TABLE listings ADD COLUMN search_text TEXT;

-- The trigrams of each row. Texts and queries are in lower case already, and every match is compared again.
-- The rows are those with the same rowid. VACUUM keeps the rowids of tables with indexes. Besides, listings are never
-- deleted, so there are no gaps that new rowids would close.
CREATE VIRTUAL TABLE listings_fts USING fts5 (
    search_text, tokenize = 'trigram case_sensitive 1', content = '', contentless_delete = 1, detail = none
);
-- Listings are created one by one. The index is therefore written with them, and no table has rows that wait for it.
CREATE TRIGGER listings_text_inserted AFTER INSERT ON listings WHEN new.search_text IS NOT NULL BEGIN
    INSERT INTO listings_fts (rowid, search_text) VALUES (new.rowid, new.search_text);
END;
CREATE TRIGGER listings_text_updated AFTER UPDATE OF search_text ON listings
    WHEN new.search_text IS NOT NULL AND new.search_text IS NOT old.search_text
BEGIN
    INSERT OR REPLACE INTO listings_fts (rowid, search_text) VALUES (new.rowid, new.search_text);
END;
CREATE TRIGGER listings_text_deleted AFTER DELETE ON listings WHEN old.search_text IS NOT NULL BEGIN
    DELETE FROM listings_fts WHERE rowid = old.rowid;
END;
