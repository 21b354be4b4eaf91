-- What is searched or sorted by as columns, the whole as its document: a page is one query.
CREATE TABLE loads (
    id BLOB NOT NULL PRIMARY KEY,
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
CREATE INDEX loads_organiser_delivery ON loads (organiser_id, delivery_at, id);
CREATE INDEX loads_organiser_created ON loads (organiser_id, created_at, id);
CREATE INDEX loads_carrier_delivery ON loads (carrier_id, delivery_at, id);
CREATE INDEX loads_carrier_created ON loads (carrier_id, created_at, id);
CREATE INDEX loads_created ON loads (created_at, id);
