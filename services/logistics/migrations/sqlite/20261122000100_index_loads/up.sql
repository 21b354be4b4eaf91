-- The same table with a number for each row that stays, which the full-text index can name.
CREATE TABLE numbered_loads (
    n INTEGER NOT NULL PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    organiser_id TEXT,
    carrier_id TEXT,
    status TEXT NOT NULL,
    delivery_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    completed_at INTEGER,
    -- Sort keys: texts in lower case, weights in ten-thousandths of a tonne.
    reference_key TEXT NOT NULL,
    organiser_key TEXT,
    carrier_key TEXT,
    commodity_key TEXT NOT NULL,
    weight INTEGER,
    weight_net INTEGER,
    -- All that a free-text query looks at, in lower case, a line for each field.
    search_text TEXT NOT NULL,
    document TEXT NOT NULL,
    -- What was proven, to tell a repeated proof from another one.
    proof TEXT
) STRICT;
INSERT INTO numbered_loads (id, organiser_id, carrier_id, status, delivery_at, created_at, completed_at, reference_key,
        organiser_key, carrier_key, commodity_key, weight, weight_net, search_text, document, proof)
    SELECT id, organiser_id, carrier_id, status, delivery_at, created_at, completed_at, reference_key,
        organiser_key, carrier_key, commodity_key, weight, weight_net, search_text, document, proof
    FROM loads ORDER BY rowid;
DROP TABLE loads;
ALTER TABLE numbered_loads RENAME TO loads;

CREATE INDEX loads_organiser_delivery ON loads (organiser_id, delivery_at, id);
CREATE INDEX loads_organiser_created ON loads (organiser_id, created_at, id);
CREATE INDEX loads_carrier_delivery ON loads (carrier_id, delivery_at, id);
CREATE INDEX loads_carrier_created ON loads (carrier_id, created_at, id);
CREATE INDEX loads_created ON loads (created_at, id);
CREATE INDEX loads_organiser_status ON loads (organiser_id, status, delivery_at, id);
CREATE INDEX loads_carrier_status ON loads (carrier_id, status, delivery_at, id);
CREATE INDEX loads_organiser_completed ON loads (organiser_id, completed_at, id) WHERE completed_at IS NOT NULL;
CREATE INDEX loads_carrier_completed ON loads (carrier_id, completed_at, id) WHERE completed_at IS NOT NULL;
CREATE INDEX loads_completed ON loads (completed_at, id) WHERE completed_at IS NOT NULL;

-- Which rows have which three letters in a row. Text and query are in lower case already, and what is found is looked
-- at once more, so that rows may stand here with what they said before.
CREATE VIRTUAL TABLE loads_fts USING fts5 (
    search_text, tokenize = 'trigram case_sensitive 1', content = '', contentless_delete = 1, detail = none
);
INSERT INTO loads_fts (rowid, search_text) SELECT n, search_text FROM loads;

-- Rows that are still to be put there. Hundreds at once cost a quarter of what each would cost by itself, and a search
-- looks at these too.
CREATE TABLE loads_unindexed (n INTEGER NOT NULL PRIMARY KEY) STRICT;
CREATE TRIGGER loads_inserted AFTER INSERT ON loads BEGIN
    INSERT INTO loads_unindexed VALUES (new.n);
END;
CREATE TRIGGER loads_updated AFTER UPDATE OF search_text ON loads
    WHEN new.search_text <> old.search_text AND NOT EXISTS (SELECT 1 FROM loads_unindexed WHERE n = new.n)
BEGIN
    INSERT INTO loads_unindexed VALUES (new.n);
END;
CREATE TRIGGER loads_deleted AFTER DELETE ON loads BEGIN
    DELETE FROM loads_unindexed WHERE n = old.n;
    DELETE FROM loads_fts WHERE rowid = old.n;
END;
CREATE TRIGGER loads_index AFTER INSERT ON loads_unindexed WHEN (SELECT count(*) FROM loads_unindexed) >= 500 BEGIN
    INSERT OR REPLACE INTO loads_fts (rowid, search_text)
        SELECT n, search_text FROM loads WHERE n IN (SELECT n FROM loads_unindexed);
    DELETE FROM loads_unindexed;
END;

-- What a million loads of 200 organisations look like: without statistics ten loads of an organisation are supposed,
-- and all of them are read rather than the few that are named by id or found by their text.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('loads', 'sqlite_autoindex_loads_1', '1000000 1'),
    ('loads', 'loads_organiser_delivery', '1000000 5000 10 1'),
    ('loads', 'loads_carrier_delivery', '1000000 5000 10 1'),
    ('loads', 'loads_organiser_created', '1000000 5000 2 1'),
    ('loads', 'loads_carrier_created', '1000000 5000 2 1'),
    ('loads', 'loads_created', '1000000 2 1'),
    ('loads', 'loads_organiser_status', '1000000 5000 2500 10 1'),
    ('loads', 'loads_carrier_status', '1000000 5000 2500 10 1'),
    ('loads', 'loads_organiser_completed', '700000 3500 2 1'),
    ('loads', 'loads_carrier_completed', '700000 3500 2 1'),
    ('loads', 'loads_completed', '700000 2 1');
