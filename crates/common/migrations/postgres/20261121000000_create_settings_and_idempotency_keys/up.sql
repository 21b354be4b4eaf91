CREATE TABLE settings (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    document JSON NOT NULL
);

CREATE TABLE idempotency_keys (
    caller TEXT NOT NULL,
    operation TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    answer JSON NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (caller, operation, key)
);
CREATE INDEX idempotency_keys_created_at ON idempotency_keys (created_at);
