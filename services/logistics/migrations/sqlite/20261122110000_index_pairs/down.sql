CREATE TRIGGER loads_index AFTER INSERT ON loads_unindexed WHEN (SELECT count(*) FROM loads_unindexed) >= 500 BEGIN
    INSERT OR REPLACE INTO loads_fts (rowid, search_text)
        SELECT n, search_text FROM loads WHERE n IN (SELECT n FROM loads_unindexed);
    DELETE FROM loads_unindexed;
END;
DELETE FROM sqlite_stat1 WHERE idx = 'loads_pair';
DROP INDEX loads_pair;
