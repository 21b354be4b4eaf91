-- The bytes that a search takes in the memory of the service, if it has notify: a part that all have, its texts twice,
-- and what the index has for each value. Commas separate the values.
ALTER TABLE saved_searches ADD COLUMN index_bytes INTEGER NOT NULL GENERATED ALWAYS AS (
    700 + 2 * octet_length(parameters) + 150 * (length(parameters) - length(replace(parameters, ',', '')))
) VIRTUAL;
-- Saving a search adds up the sizes of those with notify.
CREATE INDEX saved_searches_sizes ON saved_searches (index_bytes) WHERE notify;
