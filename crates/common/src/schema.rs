//! The tables that every service has.

diesel::table! {
    settings (id) {
        id -> Integer,
        document -> database::JsonSql,
    }
}

diesel::table! {
    idempotency_keys (caller, operation, key) {
        caller -> Text,
        operation -> Text,
        key -> Text,
        fingerprint -> Text,
        answer -> database::JsonSql,
        created_at -> database::TimestampSql,
    }
}

diesel::table! {
    due_shares (id) {
        id -> database::IdSql,
        subject_id -> database::IdSql,
        tenant -> Text,
        file_ids -> database::JsonSql,
        organisations -> database::JsonSql,
        token -> Text,
        token_expires_at -> database::TimestampSql,
        created_at -> database::TimestampSql,
        due_at -> database::TimestampSql,
        claimed_until -> Nullable<database::TimestampSql>,
        attempts -> Integer,
    }
}
