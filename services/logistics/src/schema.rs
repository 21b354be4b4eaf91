//! The tables of the logistics service; the migrations say what the columns mean.

diesel::table! {
    imports (organisation_id, content_hash) {
        organisation_id -> Text,
        content_hash -> Text,
        imported_at -> database::TsSql,
    }
}

diesel::table! {
    loads (id) {
        id -> database::IdSql,
        organiser_id -> Nullable<Text>,
        carrier_id -> Nullable<Text>,
        status -> Text,
        delivery_at -> database::TsSql,
        created_at -> database::TsSql,
        completed_at -> Nullable<database::TsSql>,
        reference_key -> Text,
        organiser_key -> Nullable<Text>,
        carrier_key -> Nullable<Text>,
        commodity_key -> Text,
        weight -> Nullable<BigInt>,
        weight_net -> Nullable<BigInt>,
        search_text -> Text,
        document -> database::JsonSql,
        proof -> Nullable<database::JsonSql>,
    }
}
