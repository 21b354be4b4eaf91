-- Only SQLite needs a change. PostgreSQL keeps the index loads_creator.
SELECT 1;
