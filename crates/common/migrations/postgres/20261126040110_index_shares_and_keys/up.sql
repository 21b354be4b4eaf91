CREATE INDEX IF NOT EXISTS due_shares_user ON due_shares (user_id, id) WHERE user_id IS NOT NULL;

-- The keys of a user are those whose caller begins with the user id. The primary key has them in the order of the
-- database's collation.
CREATE INDEX IF NOT EXISTS idempotency_keys_user ON idempotency_keys (caller text_pattern_ops);

CREATE INDEX IF NOT EXISTS idempotency_keys_subject ON idempotency_keys (subject_id) WHERE subject_id IS NOT NULL;
