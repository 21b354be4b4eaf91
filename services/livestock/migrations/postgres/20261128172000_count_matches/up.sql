-- A match changes few pages: all matches of a listing are one row, and the counts of all searches are on few pages.

-- The searches that each active listing matched: it matches none of them twice. Deleted when the listing is closed.
CREATE TABLE matched_listings (
    listing_id UUID NOT NULL PRIMARY KEY,
    -- The ids of the searches, 16 bytes each, in ascending order.
    searches BYTEA NOT NULL
);
-- Ids cannot be compressed.
ALTER TABLE matched_listings ALTER COLUMN searches SET STORAGE EXTERNAL;

-- The listings that matched each search, in addition to saved_searches.matched. They count in its revision too. Deleted
-- an hour after the search.
CREATE TABLE saved_search_counts (
    search_id UUID NOT NULL PRIMARY KEY,
    matched BIGINT NOT NULL
) WITH (fillfactor = 50); -- The new version of a row fits beside the old one: updates change no index.
