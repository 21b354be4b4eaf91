-- The indexes are built by the next migration: until this transaction ends, nobody can read the table.
ALTER TABLE reports
    -- open or resolved.
    ADD COLUMN IF NOT EXISTS status TEXT COLLATE "C" NOT NULL DEFAULT 'open',
    -- dismissed or listing_removed; NULL while the report is open. Also the next column.
    ADD COLUMN IF NOT EXISTS outcome TEXT COLLATE "C",
    ADD COLUMN IF NOT EXISTS note TEXT COLLATE "C";
