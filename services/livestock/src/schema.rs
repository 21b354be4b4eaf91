//! The tables of the livestock service; the migrations say what the columns mean.

diesel::table! {
    listings (id) {
        id -> database::IdSql,
        organisation_id -> Text,
        kind -> Text,
        status -> Text,
        category -> Integer,
        created_at -> database::TimestampSql,
        organisation_key -> Text,
        price -> Nullable<BigInt>,
        age -> Nullable<BigInt>,
        min_age -> Nullable<BigInt>,
        max_age -> Nullable<BigInt>,
        quantity -> Nullable<BigInt>,
        born -> Nullable<BigInt>,
        breed -> Nullable<Text>,
        breed_type -> Nullable<Text>,
        breed_society -> Nullable<Text>,
        types -> Text,
        sexes -> Text,
        additional_info -> Text,
        band -> Nullable<Integer>,
        lon -> Nullable<Double>,
        x -> Nullable<Double>,
        y -> Nullable<Double>,
        z -> Nullable<Double>,
        derived -> Integer,
        document -> database::JsonSql,
        cancelled_as_draft -> Bool,
    }
}

diesel::table! {
    spellings (term) {
        term -> Text,
        spelling -> Text,
    }
}

diesel::table! {
    // The database gives the number and, on PostgreSQL only, the position.
    listing_events (n) {
        n -> BigInt,
        position -> BigInt,
        listing_id -> database::IdSql,
        user_id -> Text,
        from_status -> Nullable<Text>,
        to_status -> Text,
        reason -> Nullable<Text>,
        at -> database::TimestampSql,
    }
}

diesel::table! {
    wishlists (user_id, listing_id) {
        user_id -> Text,
        listing_id -> database::IdSql,
        added_at -> database::TimestampSql,
    }
}

diesel::table! {
    reports (id) {
        id -> database::IdSql,
        listing_id -> database::IdSql,
        user_id -> Text,
        reason -> Text,
        message -> Nullable<Text>,
        created_at -> database::TimestampSql,
    }
}

diesel::allow_tables_to_appear_in_same_query!(listings, listing_events, spellings, wishlists, reports);
