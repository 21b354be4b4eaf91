-- A copy of the facet index, from which the service starts without reading all listings. At most one row, which is
-- inserted after all chunks.
CREATE TABLE facet_snapshots (
    id BLOB NOT NULL PRIMARY KEY,
    -- The version of the format and of everything that the contents depend on.
    layout TEXT NOT NULL,
    -- The copy contains all events with smaller numbers.
    position INTEGER NOT NULL,
    -- The number of the last event when the copy was complete.
    last_event INTEGER NOT NULL,
    listings INTEGER NOT NULL,
    -- Chunks with contents: number 1 and the following.
    chunks INTEGER NOT NULL,
    -- CRC-32 of the contents of all chunks.
    checksum INTEGER NOT NULL,
    written_at INTEGER NOT NULL
) STRICT;

-- Chunks without a row in facet_snapshots belong to a copy that is being written or was abandoned.
CREATE TABLE facet_snapshot_chunks (
    snapshot_id BLOB NOT NULL,
    -- Chunk 0 is empty, and is there while the copy is written.
    number INTEGER NOT NULL,
    contents BLOB NOT NULL,
    PRIMARY KEY (snapshot_id, number)
) STRICT;
