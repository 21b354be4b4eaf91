UPDATE saved_searches SET matched = saved_searches.matched + k.matched, revision = saved_searches.revision + k.matched
    FROM saved_search_counts AS k WHERE k.search_id = saved_searches.id;
DROP TABLE saved_search_counts;
DROP TABLE matched_listings;
