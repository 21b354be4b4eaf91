-- What of the content store is in use: each content once, by its hash, and its name in the store.
CREATE TABLE contents (
    hash TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO contents (hash, name) SELECT DISTINCT hash, hash FROM files;
