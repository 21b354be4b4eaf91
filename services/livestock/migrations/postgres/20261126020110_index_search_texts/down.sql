DROP INDEX IF EXISTS listings_search_text;
