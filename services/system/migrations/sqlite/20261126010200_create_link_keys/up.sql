-- The keys of signed links. The one with the highest number signs. Earlier ones are kept while their links may be valid.
CREATE TABLE link_keys (
    number INTEGER NOT NULL PRIMARY KEY,
    -- 32 random bytes.
    secret BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    -- NULL for the key that signs.
    replaced_at INTEGER
) STRICT;
