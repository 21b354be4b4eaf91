DROP TABLE saved_search_cursor;
DROP TABLE saved_search_matches;
DROP TABLE saved_search_changes;
DROP TABLE saved_searches;
