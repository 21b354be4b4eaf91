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
        created_at -> database::TsSql,
    }
}
