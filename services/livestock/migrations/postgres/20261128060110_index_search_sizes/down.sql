DROP INDEX saved_searches_sizes;
