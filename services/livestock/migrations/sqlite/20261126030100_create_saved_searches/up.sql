-- The searches that users saved.
CREATE TABLE saved_searches (
    id BLOB NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL,
    -- 1 to 50, different for each search of a user: the limit on their number.
    slot INTEGER NOT NULL,
    -- The organisation that the user acted for when saving it, or an empty text. Its webhooks get the matches.
    organisation_id TEXT NOT NULL,
    name TEXT NOT NULL,
    -- A JSON object: texts, or arrays of texts, by the names of query parameters.
    parameters TEXT NOT NULL,
    notify INTEGER NOT NULL,
    -- Grows by one with each change of parameters or notify.
    version INTEGER NOT NULL,
    -- Grows by one with each change that responses show.
    revision INTEGER NOT NULL,
    -- Events of listings with smaller positions are not matched: they are older than the search.
    matches_from INTEGER NOT NULL,
    -- The number of listings that matched, and how many of them were matched when the listings were read last.
    matched INTEGER NOT NULL,
    seen INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX saved_searches_user ON saved_searches (user_id, slot);
CREATE INDEX saved_searches_notify ON saved_searches (id) WHERE notify;

-- Searches that were saved, changed or deleted. The replica that matches reads on from the last one that it knows.
CREATE TABLE saved_search_changes (
    n INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    search_id BLOB NOT NULL,
    -- Rows are deleted an hour later.
    changed_at INTEGER NOT NULL
) STRICT;

-- The active listings that matched a search: none matches a search twice. Deleted when the listing is closed.
CREATE TABLE saved_search_matches (
    search_id BLOB NOT NULL,
    listing_id BLOB NOT NULL,
    -- The value of saved_searches.matched with this match.
    number INTEGER NOT NULL,
    PRIMARY KEY (search_id, listing_id)
) STRICT;
CREATE INDEX saved_search_matches_listing ON saved_search_matches (listing_id);

-- One row: up to which event the listings were matched, and which replica matches.
CREATE TABLE saved_search_cursor (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    -- The number of the last event, twice: on PostgreSQL events have a position besides.
    position INTEGER NOT NULL,
    event INTEGER NOT NULL,
    -- The greatest number of the events so far.
    last_event INTEGER NOT NULL,
    -- Events up to this number are not matched, whatever their positions: those of another server, from which the
    -- database was moved.
    first_event INTEGER NOT NULL,
    replica BLOB,
    leased_until INTEGER
) STRICT;
INSERT INTO saved_search_cursor (id, position, event, last_event, first_event)
    SELECT 1, COALESCE(max(n), 0), COALESCE(max(n), 0), COALESCE(max(n), 0), 0 FROM listing_events;
