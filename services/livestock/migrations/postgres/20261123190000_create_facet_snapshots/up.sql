-- A copy of the facet index, from which the service starts without reading all listings. At most one row, which is
-- inserted after all chunks.
CREATE TABLE facet_snapshots (
    id UUID NOT NULL PRIMARY KEY,
    -- The version of the format and of everything that the contents depend on.
    layout TEXT COLLATE "C" NOT NULL,
    -- The copy contains all events with smaller positions.
    position BIGINT NOT NULL,
    -- The number of the last event when the copy was complete.
    last_event BIGINT NOT NULL,
    listings BIGINT NOT NULL,
    -- Chunks with contents: number 1 and the following.
    chunks INTEGER NOT NULL,
    -- CRC-32 of the contents of all chunks.
    checksum BIGINT NOT NULL,
    written_at TIMESTAMPTZ NOT NULL
);

-- Chunks without a row in facet_snapshots belong to a copy that is being written or was abandoned.
CREATE TABLE facet_snapshot_chunks (
    snapshot_id UUID NOT NULL,
    -- Chunk 0 is empty, and is there while the copy is written.
    number INTEGER NOT NULL,
    contents BYTEA NOT NULL,
    PRIMARY KEY (snapshot_id, number)
);
-- Ids and coordinates cannot be compressed.
ALTER TABLE facet_snapshot_chunks ALTER COLUMN contents SET STORAGE EXTERNAL;
