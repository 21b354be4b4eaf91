-- A match changes few pages: all matches of a listing are one row, and the counts of all searches are on few pages.

-- The searches that each active listing matched: it matches none of them twice. Deleted when the listing is closed.
CREATE TABLE matched_listings (
    listing_id BLOB NOT NULL PRIMARY KEY,
    -- The ids of the searches, 16 bytes each, in ascending order.
    searches BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- The listings that matched each search, in addition to saved_searches.matched. They count in its revision too. Deleted
-- an hour after the search.
CREATE TABLE saved_search_counts (
    search_id BLOB NOT NULL PRIMARY KEY,
    matched INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
