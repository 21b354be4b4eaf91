//! The tables of this service.

diesel::table! {
    files (id) {
        id -> database::IdSql,
        bucket -> Text,
        kind -> Text,
        organisation_id -> Nullable<Text>,
        name -> Text,
        hash -> Text,
        content_type -> Text,
        size -> BigInt,
        user_id -> Text,
        user_name -> Text,
        organisations -> database::JsonSql,
        created_at -> database::TimestampSql,
        archived_at -> Nullable<database::TimestampSql>,
    }
}

diesel::table! {
    contents (hash) {
        hash -> Text,
        name -> Text,
    }
}

diesel::allow_tables_to_appear_in_same_query!(files, contents);
