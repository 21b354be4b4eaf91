DROP INDEX idempotency_keys_subject, idempotency_keys_user, due_shares_user;
