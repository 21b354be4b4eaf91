-- The keys of signed links. The one with the highest number signs. Earlier ones are kept while their links may be valid.
CREATE TABLE link_keys (
    number BIGINT NOT NULL PRIMARY KEY,
    -- 32 random bytes.
    secret BYTEA NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    -- NULL for the key that signs.
    replaced_at TIMESTAMPTZ
);
