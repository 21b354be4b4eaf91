//! The tables of the livestock service.
//!
//! All `kind`, `status` and `reason` columns contain the lower-case names that the API uses.

diesel::table! {
    listings (id) {
        id -> database::IdSql,
        organisation_id -> Text,
        // `selling` or `buying`.
        kind -> Text,
        status -> Text,
        // The main category, whichever of its parts the listing names.
        category -> Integer,
        // When the listing was published; when it was created, if it never was. The name of the column is from the time
        // when it was the creation of every listing. Its indexes and the previous release use it.
        #[sql_name = "created_at"]
        published_at -> database::TimestampSql,
        // The organisation's name as a key for sorting (`common::wire::sort_key`).
        organisation_key -> Text,
        // Sort key: ten-thousandths of the currency's unit.
        price -> Nullable<BigInt>,
        // Sort key: ten-thousandths of a month, `min_age` or else `max_age`.
        age -> Nullable<BigInt>,
        // Ten-thousandths of a month.
        min_age -> Nullable<BigInt>,
        // Ten-thousandths of a month.
        max_age -> Nullable<BigInt>,
        // Ten-thousandths of a head.
        quantity -> Nullable<BigInt>,
        // Day of birth of a dog: `(year * 12 + month) * 32 + day`, months from 0. See `calendar::day`.
        born -> Nullable<BigInt>,
        // As it is compared (`common::wire::comparison_key`), as are the next two columns.
        breed -> Nullable<Text>,
        breed_type -> Nullable<Text>,
        breed_society -> Nullable<Text>,
        // Lower case, one per line, with line breaks around each. Also the next two columns. See
        // `search_fields::lines`.
        types -> Text,
        sexes -> Text,
        additional_info -> Text,
        // Tenths of a degree of latitude, rounded down.
        band -> Nullable<Integer>,
        // Degrees east.
        lon -> Nullable<Double>,
        // The point on the sphere of radius 1, with `y` and `z`. See `geo::Point::unit_vector`.
        x -> Nullable<Double>,
        y -> Nullable<Double>,
        z -> Nullable<Double>,
        // The same for the coordinates that visitors see, with `public_y` and `public_z`. See `geo::Point::rounded`.
        public_x -> Nullable<Double>,
        public_y -> Nullable<Double>,
        public_z -> Nullable<Double>,
        // The version of the code that derived the columns from the document. See `store::ROW_VERSION`.
        derived -> Integer,
        // The listing as JSON, as the API sends it.
        document -> database::JsonSql,
        // Whether the listing was cancelled before it was published.
        cancelled_as_draft -> Bool,
        // The number of the revision, from 1. Grows by one with each change.
        revision -> BigInt,
        // What free-text queries compare, see `search_text`. NULL: the previous release wrote the listing.
        search_text -> Nullable<Text>,
    }
}

diesel::table! {
    // Apart from the other columns of `listings`, because Diesel has 32 of a table. The database sets it for new rows.
    #[sql_name = "listings"]
    listing_details (id) {
        id -> database::IdSql,
        // When the listing was created.
        first_stored_at -> database::TimestampSql,
        // The highest amount of the price in ten-thousandths, as `price` is the lowest. NULL without amounts.
        max_price -> Nullable<BigInt>,
        // The ISO 4217 code of the amounts.
        currency -> Nullable<Text>,
    }
}

diesel::table! {
    spellings (term) {
        // A breed or society as it is compared; or `type`, a line break and a value of `properties.type`.
        term -> Text,
        // The spelling of the first published listing that has the term.
        spelling -> Text,
    }
}

diesel::table! {
    // The database assigns `n` and `position`.
    listing_events (n) {
        // Ascending number of the event.
        n -> BigInt,
        // The place of the event in the feed is the position and the number. See `database::feed`.
        position -> BigInt,
        listing_id -> database::IdSql,
        user_id -> Text,
        // NULL: the listing was created. The same as `to_status`: the listing was edited.
        from_status -> Nullable<Text>,
        to_status -> Text,
        reason -> Nullable<Text>,
        at -> database::TimestampSql,
        // NULL if an older version wrote the event, as are the next three columns.
        id -> Nullable<database::IdSql>,
        user_name -> Nullable<Text>,
        // NULL also if the user acted for no organisation.
        organisation_id -> Nullable<Text>,
        // Members of requests with their values before and after, as JSON. NULL also if the event has none.
        changes -> Nullable<database::JsonSql>,
        // The revision of the listing after the event. The database completes events of earlier releases with this and
        // the next column.
        revision -> Nullable<BigInt>,
        // The organisation of the listing.
        owner_id -> Nullable<Text>,
        // TRUE if the organisation was suspended then; otherwise NULL.
        hidden -> Nullable<Bool>,
    }
}

diesel::table! {
    // What saved searches found: one row for each listing and each organisation whose users saved them. On PostgreSQL,
    // the database assigns `n` and `position`.
    match_events (n) {
        // A number that no event of a listing has.
        n -> BigInt,
        position -> BigInt,
        id -> database::IdSql,
        listing_id -> database::IdSql,
        // An empty text: users without an organisation.
        organisation_id -> Text,
        // The ids of the searches, 16 bytes each.
        searches -> Binary,
        // The revision of the listing that they found.
        revision -> BigInt,
        at -> database::TimestampSql,
    }
}

diesel::table! {
    // Listings whose postcode is still to be looked up, because system was unavailable.
    due_locations (listing_id) {
        listing_id -> database::IdSql,
        // The next look-up. While one runs: the end of its lease.
        due_at -> database::TimestampSql,
        // Look-ups so far.
        attempts -> Integer,
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
    suspended_organisations (organisation_id) {
        organisation_id -> Text,
        // The order of lists.
        id -> database::IdSql,
        reason -> Text,
        suspended_at -> database::TimestampSql,
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
        // `open` or `resolved`.
        status -> Text,
        // `dismissed` or `listing_removed`; NULL while the report is open. Also the next column.
        outcome -> Nullable<Text>,
        note -> Nullable<Text>,
    }
}

diesel::table! {
    // Enquiries about listings. On PostgreSQL, the database assigns `n` and `position`.
    enquiries (n) {
        // A number that no event of a listing has.
        n -> BigInt,
        position -> BigInt,
        id -> database::IdSql,
        listing_id -> database::IdSql,
        // The organisation and the revision of the listing.
        organisation_id -> Text,
        revision -> BigInt,
        // The sender. An empty text after an erasure.
        user_id -> Text,
        // Days since 1970-01-01 in UTC.
        day -> BigInt,
        // The number of the enquiry among those of the sender that day, from 1.
        slot -> BigInt,
        message -> Text,
        name -> Text,
        phone -> Nullable<Text>,
        email -> Nullable<Text>,
        // `open` or `answered`.
        status -> Text,
        created_at -> database::TimestampSql,
        answered_at -> Nullable<database::TimestampSql>,
    }
}

diesel::table! {
    saved_searches (id) {
        id -> database::IdSql,
        user_id -> Text,
        // 1 to 50, different for each search of a user.
        slot -> Integer,
        // The organisation that the user acted for when saving it, or an empty text.
        organisation_id -> Text,
        name -> Text,
        // A JSON object: texts, or arrays of texts, by the names of query parameters.
        parameters -> database::JsonSql,
        notify -> Bool,
        // Grows by one with each change of `parameters` or `notify`.
        version -> BigInt,
        // Grows by one with each change that responses show, except for the matches of `saved_search_counts`.
        revision -> BigInt,
        // Events of listings with smaller positions are not matched. See `saved_searches::store::next_position`.
        matches_from -> BigInt,
        // The number of listings that matched, without those of `saved_search_counts`.
        matched -> BigInt,
        // The number of listings that had matched, with both, when the listings were read last.
        seen -> BigInt,
        created_at -> database::TimestampSql,
        // The bytes that the search takes in memory with `notify`. The database computes them from `parameters`.
        index_bytes -> BigInt,
        // When it was edited or its listings were read last. NULL: not since it was saved, or by an earlier release.
        updated_at -> Nullable<database::TimestampSql>,
        // Degrees north and east of the point that the parameter `near` names. NULL without it.
        near_lat -> Nullable<Double>,
        near_lon -> Nullable<Double>,
    }
}

diesel::table! {
    // The database assigns `n` and, on PostgreSQL only, `position`.
    saved_search_changes (n) {
        n -> BigInt,
        // The id of the transaction that made the change.
        position -> BigInt,
        // The saved, changed or deleted search.
        search_id -> database::IdSql,
        changed_at -> database::TimestampSql,
    }
}

diesel::table! {
    // The listings that matched each search, in addition to `saved_searches.matched`.
    saved_search_counts (search_id) {
        search_id -> database::IdSql,
        matched -> BigInt,
        // When a listing matched last. NULL: an earlier release counted.
        updated_at -> Nullable<database::TimestampSql>,
    }
}

diesel::table! {
    // The searches that each active listing matched.
    matched_listings (listing_id) {
        listing_id -> database::IdSql,
        // The ids of the searches, 16 bytes each, in ascending order.
        searches -> Binary,
    }
}

diesel::table! {
    // Matches that releases before 1.2 stored. This release reads and deletes them, until a release after 1.2 drops the
    // table.
    saved_search_matches (search_id, listing_id) {
        search_id -> database::IdSql,
        listing_id -> database::IdSql,
        // The value of `saved_searches.matched` with this match.
        number -> BigInt,
    }
}

diesel::table! {
    // One row. Releases before 1.2 also use the columns `last_event` and `first_event`.
    saved_search_cursor (id) {
        // 1.
        id -> Integer,
        // Position and number of the last matched event.
        position -> BigInt,
        event -> BigInt,
        // The replica that matches, until the time of its lease.
        replica -> Nullable<database::IdSql>,
        leased_until -> Nullable<database::TimestampSql>,
    }
}

diesel::table! {
    // The last number of each table that SQLite numbers. Only on SQLite.
    sqlite_sequence (name) {
        name -> Text,
        seq -> BigInt,
    }
}

diesel::allow_tables_to_appear_in_same_query!(
    listings,
    suspended_organisations,
    listing_events,
    spellings,
    wishlists,
    reports
);
