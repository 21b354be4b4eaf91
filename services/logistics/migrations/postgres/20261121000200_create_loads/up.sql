-- What is searched or sorted by as columns, the whole as its document: a page is one query.
CREATE TABLE loads (
    id UUID NOT NULL PRIMARY KEY,
    organiser_id TEXT,
    carrier_id TEXT,
    status TEXT COLLATE "C" NOT NULL,
    delivery_at TIMESTAMPTZ NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    completed_at TIMESTAMPTZ,
    -- Sort keys: texts in lower case, weights in ten-thousandths of a tonne.
    reference_key TEXT COLLATE "C" NOT NULL,
    organiser_key TEXT COLLATE "C",
    carrier_key TEXT COLLATE "C",
    commodity_key TEXT COLLATE "C" NOT NULL,
    weight BIGINT,
    weight_net BIGINT,
    -- All that a free-text query looks at, in lower case, a line for each field.
    search_text TEXT NOT NULL,
    document JSON NOT NULL,
    -- What was proven, to tell a repeated proof from another one.
    proof JSON
);
CREATE INDEX loads_organiser_delivery ON loads (organiser_id, delivery_at, id);
CREATE INDEX loads_organiser_created ON loads (organiser_id, created_at, id);
CREATE INDEX loads_carrier_delivery ON loads (carrier_id, delivery_at, id);
CREATE INDEX loads_carrier_created ON loads (carrier_id, created_at, id);
CREATE INDEX loads_created ON loads (created_at, id);
