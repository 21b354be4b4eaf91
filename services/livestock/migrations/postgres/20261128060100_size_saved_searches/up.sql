-- The bytes that a search takes in the memory of the replica that matches listings, if it has notify: a part that all
-- have, its texts twice, and what the index has for each value. Commas separate the values.
ALTER TABLE saved_searches ADD COLUMN index_bytes BIGINT NOT NULL GENERATED ALWAYS AS (
    700 + 2 * octet_length(parameters::text)
        + 150 * (length(parameters::text) - length(replace(parameters::text, ',', '')))
) STORED;
