-- Whether an older release stored or changed the load, so that its document does not show its revision or its texts are
-- not folded. A column, because indexes with functions in their conditions are expensive: to insert a row into one, SQLite
-- first copies each page that the statement changes. Development versions of 1.2 had two such indexes.
ALTER TABLE loads ADD COLUMN is_stale INTEGER NOT NULL DEFAULT 1;
DROP INDEX IF EXISTS loads_stale_revision;
DROP INDEX IF EXISTS loads_unfolded;
UPDATE loads SET is_stale = 0
    WHERE json_extract(document, '$.revision') IS revision AND instr(reference_key, char(1)) > 0;
CREATE INDEX loads_stale ON loads (id) WHERE is_stale = 1;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('loads', 'loads_stale', '1 1');
CREATE TRIGGER loads_staleness_kept AFTER UPDATE OF document, reference_key, revision ON loads
    WHEN NEW.is_stale
        <> (json_extract(NEW.document, '$.revision') IS NOT NEW.revision OR instr(NEW.reference_key, char(1)) = 0)
BEGIN
    UPDATE loads
        SET is_stale = (json_extract(document, '$.revision') IS NOT revision OR instr(reference_key, char(1)) = 0)
        WHERE id = NEW.id;
END;
