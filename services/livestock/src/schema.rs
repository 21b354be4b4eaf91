//! The tables of the livestock service; the migrations say what the columns mean.

diesel::table! {
    listings (id) {
        id -> database::IdSql,
        organisation_id -> Text,
        kind -> Text,
        status -> Text,
        category -> Integer,
        created_at -> database::TsSql,
        organisation_key -> Text,
        price -> Nullable<BigInt>,
        age -> Nullable<BigInt>,
        min_age -> Nullable<BigInt>,
        max_age -> Nullable<BigInt>,
        quantity -> Nullable<BigInt>,
        breed -> Nullable<Text>,
        breed_type -> Nullable<Text>,
        breed_society -> Nullable<Text>,
        types -> Text,
        sexes -> Text,
        additional_info -> Text,
        document -> database::JsonSql,
    }
}
