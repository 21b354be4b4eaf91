-- A large import stores its loads in several transactions, so that other writes do not wait for all of it. Its loads
-- are hidden while it is running, and wait here until the events that report their creation are stored.
CREATE TABLE running_imports (id BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE staged_loads (
    n INTEGER NOT NULL PRIMARY KEY,
    import_id BLOB NOT NULL
) STRICT;
