-- Only SQLite needs a change. On PostgreSQL, other writes do not wait for the transaction of an import.
SELECT 1;
