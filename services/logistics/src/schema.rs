//! The tables of the logistics service.
//!
//! Instants have milliseconds: INTEGER milliseconds since 1970-01-01T00:00:00Z on SQLite, TIMESTAMPTZ on PostgreSQL.

diesel::table! {
    /// The contents that organisations imported as batches.
    imports (organisation_id, content_hash) {
        /// Empty for an `admin` without an organisation.
        organisation_id -> Text,
        /// SHA-256 in hex of the SHA-256 of the content of a file. Older versions recorded several files by the SHA-256
        /// of their sorted hashes. `ifExists` for the last import that looked for existing loads.
        content_hash -> Text,
        /// The last import of the content.
        imported_at -> database::TimestampSql,
    }
}

diesel::table! {
    /// The batches that stored something: the newest 10,000 of each organisation.
    load_batches (id) {
        /// UUIDv7: the order of lists.
        id -> database::IdSql,
        /// Empty for an `admin` without an organisation.
        organisation_id -> Text,
        user_id -> Text,
        user_name -> Text,
        /// The names of the files, as a JSON array.
        files -> database::JsonSql,
        created_at -> database::TimestampSql,
        /// The number of loads that were created.
        created -> BigInt,
        /// The number of loads that were changed.
        updated -> BigInt,
    }
}

diesel::table! {
    /// Loads: the document, and the columns that are derived from it for searching and sorting.
    loads (id) {
        /// UUIDv7.
        id -> database::IdSql,
        organiser_id -> Nullable<Text>,
        carrier_id -> Nullable<Text>,
        /// `upcoming`, `completed` or `cancelled`.
        status -> Text,
        /// When the load is due.
        delivery_at -> database::TimestampSql,
        created_at -> database::TimestampSql,
        /// When the load was delivered; NULL while it is upcoming.
        completed_at -> Nullable<database::TimestampSql>,
        /// The reference as a key for sorting (`common::wire::sort_key`); without its folded form if an older version
        /// stored or changed the load and it was not filled in yet, as are the keys of names and `search_text`.
        reference_key -> Text,
        /// The reference in the form in which similar references are equal (`loads/reference.rs`). NULL if an older
        /// version stored or changed the load and it was not filled in yet.
        similarity_key -> Nullable<Text>,
        /// The organiser's name as a key for sorting.
        organiser_key -> Nullable<Text>,
        /// The carrier's name as a key for sorting.
        carrier_key -> Nullable<Text>,
        /// The commodity's name as a key for sorting.
        commodity_key -> Text,
        /// The id of the commodity. NULL if an older version stored or changed the load and it was not filled in yet.
        commodity_id -> Nullable<Integer>,
        /// The agreed weight in ten-thousandths of a tonne.
        weight -> Nullable<BigInt>,
        /// The net weight in ten-thousandths of a tonne.
        weight_net -> Nullable<BigInt>,
        /// The text that free-text queries match: folded, one line per field.
        search_text -> Text,
        /// The load as JSON, as responses show it.
        document -> database::JsonSql,
        /// The proof of delivery as JSON, to distinguish a repeated proof from a different one.
        proof -> Nullable<database::JsonSql>,
        /// The id of the organisation that created the load. Empty for an `admin` without an organisation. NULL if an
        /// older version stored the load and it was not filled in yet.
        created_by -> Nullable<Text>,
        /// TRUE until the organiser accepts a load that its carrier created. Otherwise NULL.
        awaits_acceptance -> Nullable<Bool>,
        accepted_at -> Nullable<database::TimestampSql>,
        /// The id of the user who accepted the load.
        accepted_by -> Nullable<Text>,
        /// The number of the revision, from 1. Grows by one with each change; sending is one if it assigns a carrier.
        revision -> BigInt,
        /// The id of the user who created the load. NULL if an older version stored it.
        creator_id -> Nullable<Text>,
        /// The name of the user who created the load. NULL if an older version stored it.
        creator_name -> Nullable<Text>,
        /// The proof of delivery after corrections, as JSON. `proof` keeps the original.
        corrected_proof -> Nullable<database::JsonSql>,
        /// The batch that created the load. NULL for other loads.
        batch_id -> Nullable<database::IdSql>,
    }
}

diesel::table! {
    /// The history of loads, append-only, without the creation, which the row of the load tells.
    load_events (n) {
        /// The order of the events.
        n -> BigInt,
        id -> database::IdSql,
        load_id -> database::IdSql,
        #[sql_name = "type"]
        event_type -> Text,
        /// NULL if an older version made the change.
        user_id -> Nullable<Text>,
        user_name -> Nullable<Text>,
        organisation_id -> Nullable<Text>,
        at -> database::TimestampSql,
        reason -> Nullable<Text>,
        /// Members of requests with their values before and after, as JSON.
        changes -> Nullable<database::JsonSql>,
        /// The text of a note.
        text -> Nullable<Text>,
        /// The place of the event in the feed, together with `n`. See `database::feed`.
        position -> BigInt,
        /// The revision of the load after the event.
        revision -> Nullable<BigInt>,
        /// The reference of the load after the event.
        reference -> Nullable<Text>,
        /// An organisation that reads the event: the organiser then.
        organiser_id -> Nullable<Text>,
        /// The carrier then, unless it was the organiser too.
        carrier_id -> Nullable<Text>,
        /// The creator of the load, unless it was one of these.
        created_by -> Nullable<Text>,
    }
}

diesel::table! {
    /// The drivers to whom loads were sent.
    load_drivers (load_id, driver_id) {
        load_id -> database::IdSql,
        /// The claim `sub` of the driver's token.
        driver_id -> Text,
        /// The last time that the load was sent to the driver. NULL if an older version sent it and its notification
        /// was deleted since.
        sent_at -> Nullable<database::TimestampSql>,
    }
}

diesel::table! {
    /// The last notifications to drivers that organisations sent, whose number in a period is limited.
    driver_sendings (organisation_id, n) {
        organisation_id -> Text,
        /// Counts the notifications of the organisation, from 1.
        n -> BigInt,
        at -> database::TimestampSql,
    }
}

diesel::table! {
    /// The last notes that users wrote, whose number in a period is limited.
    user_notes (user_id, n) {
        user_id -> Text,
        /// Counts the notes of the user, from 1.
        n -> BigInt,
        at -> database::TimestampSql,
    }
}

diesel::table! {
    /// The loads that each user created, on SQLite only. Loads that wait for the full-text index may be missing.
    load_creators (creator_id, load_id) {
        creator_id -> Text,
        load_id -> database::IdSql,
    }
}

diesel::table! {
    /// The organisations that an organisation has blocked.
    organisation_blocks (organisation_id, blocked_id) {
        /// The organisation that blocks.
        organisation_id -> Text,
        /// The organisation that is blocked, and may not name the other one as organiser or carrier.
        blocked_id -> Text,
        /// UUIDv7: the order of lists.
        id -> database::IdSql,
        /// 1 to 1,000, different for each block of an organisation.
        slot -> Integer,
        blocked_at -> database::TimestampSql,
    }
}

diesel::table! {
    /// The organisations and users that have called the service.
    known_callers (kind, id) {
        /// `organisation` or `driver`: any user can be a driver.
        kind -> Text,
        id -> Text,
        /// The name in the tokens. NULL if none had one.
        name -> Nullable<Text>,
        /// The day of the last write, in days since 1970.
        written_on -> Integer,
    }
}

diesel::table! {
    /// The address books: whom the loads of an organisation name, the organisation itself included.
    contacts (organisation_id, kind, contact_id) {
        organisation_id -> Text,
        /// `organisation` or `driver`.
        kind -> Text,
        contact_id -> Text,
        name -> Nullable<Text>,
        /// The folded name, or id without a name: its first 100 characters.
        name_key -> Text,
        /// The text that queries match: the folded name and id.
        words -> Text,
    }
}

diesel::table! {
    /// The last event from which contacts were taken: one row, at first before all events.
    contacts_position (n) {
        position -> BigInt,
        n -> BigInt,
    }
}

diesel::allow_tables_to_appear_in_same_query!(loads, load_drivers, load_events, notifications);

diesel::table! {
    /// The outbox of notifications. Each is stored in the transaction of its event.
    notifications (id) {
        /// UUIDv7.
        id -> database::IdSql,
        load_id -> database::IdSql,
        event -> Text,
        recipient_id -> Text,
        status -> Text,
        /// The number of delivery attempts.
        attempts -> Integer,
        created_at -> database::TimestampSql,
        /// While pending: since when. Afterwards: when it was delivered or failed, from which its retention counts.
        pending_since -> database::TimestampSql,
        /// The next delivery attempt; NULL after delivery or failure.
        due_at -> Nullable<database::TimestampSql>,
        /// The end of the lease of the replica that delivers the notification.
        claimed_until -> Nullable<database::TimestampSql>,
        delivered_at -> Nullable<database::TimestampSql>,
        /// The reason of the last failure, for operators.
        last_error -> Nullable<Text>,
        /// The event as JSON, as it is sent.
        body -> database::JsonSql,
        /// The organisation that sent the load; empty for an `admin` without one. Organisations take turns in delivery.
        organisation_id -> Text,
        /// TRUE while this pending notification absorbs new ones of the same load, event and recipient: a unique index
        /// allows one such row. NULL once it is delivered, failed or redelivered.
        collapses -> Nullable<Bool>,
    }
}
