//! The tables of the logistics service; the migrations say what the columns mean.

diesel::table! {
    imports (organisation_id, content_hash) {
        organisation_id -> Text,
        content_hash -> Text,
        imported_at -> database::TimestampSql,
    }
}

diesel::table! {
    loads (id) {
        id -> database::IdSql,
        organiser_id -> Nullable<Text>,
        carrier_id -> Nullable<Text>,
        status -> Text,
        delivery_at -> database::TimestampSql,
        created_at -> database::TimestampSql,
        completed_at -> Nullable<database::TimestampSql>,
        reference_key -> Text,
        organiser_key -> Nullable<Text>,
        carrier_key -> Nullable<Text>,
        commodity_key -> Text,
        weight -> Nullable<BigInt>,
        weight_net -> Nullable<BigInt>,
        search_text -> Text,
        document -> database::JsonSql,
        proof -> Nullable<database::JsonSql>,
        created_by -> Nullable<Text>,
        awaits_acceptance -> Nullable<Bool>,
        accepted_at -> Nullable<database::TimestampSql>,
        accepted_by -> Nullable<Text>,
    }
}

diesel::table! {
    load_drivers (load_id, driver_id) {
        load_id -> database::IdSql,
        driver_id -> Text,
    }
}

diesel::allow_tables_to_appear_in_same_query!(loads, load_drivers);

diesel::table! {
    notifications (id) {
        id -> database::IdSql,
        load_id -> database::IdSql,
        event -> Text,
        recipient_id -> Text,
        status -> Text,
        attempts -> Integer,
        created_at -> database::TimestampSql,
        pending_since -> database::TimestampSql,
        due_at -> Nullable<database::TimestampSql>,
        claimed_until -> Nullable<database::TimestampSql>,
        delivered_at -> Nullable<database::TimestampSql>,
        last_error -> Nullable<Text>,
        body -> database::JsonSql,
        organisation_id -> Text,
        collapses -> Nullable<Bool>,
    }
}
