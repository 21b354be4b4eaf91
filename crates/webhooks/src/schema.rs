//! The tables of webhooks, and their migrations.
//!
//! Instants have milliseconds: INTEGER milliseconds since 1970-01-01T00:00:00Z on SQLite, TIMESTAMPTZ on PostgreSQL.

use database::{DistributedTable, Distribution, EmbeddedMigrations, Migrations};
use include_dir::include_dir;

diesel::table! {
    /// The webhooks of organisations.
    webhooks (id) {
        /// UUIDv7 as text, because it is the group of deliveries, which is a text in every outbox.
        id -> Text,
        /// Empty if an `admin` without an organisation created it, for the events of all.
        organisation_id -> Text,
        /// 1 to 20, different for each webhook of an organisation. NULL once it is deleted.
        slot -> Nullable<Integer>,
        url -> Text,
        /// The subscribed events, a JSON array.
        events -> Text,
        description -> Nullable<Text>,
        /// `active`, `disabled` or `deleted`.
        status -> Text,
        status_since -> database::TimestampSql,
        disabled_reason -> Nullable<Text>,
        /// The first failed attempt since the last successful one.
        failing_since -> Nullable<database::TimestampSql>,
        /// `whsec_` and base64.
        secret -> Text,
        /// The secret before the last rotation, which signs as well until `previous_secret_until`.
        previous_secret -> Nullable<Text>,
        previous_secret_until -> Nullable<database::TimestampSql>,
        /// Grows by one with each change that responses show.
        revision -> BigInt,
        created_at -> database::TimestampSql,
        /// When the webhook was changed last. NULL: not since it was created, or by an earlier release.
        updated_at -> Nullable<database::TimestampSql>,
        /// `own` or `all`.
        scope -> Text,
        /// Whether the scope is or ever was `all`.
        admin_only -> Bool,
    }
}

diesel::table! {
    /// The outbox of these webhooks: one row for each event and webhook.
    webhook_deliveries (webhook_id, id) {
        /// The id of the event, the same at all webhooks.
        id -> database::IdSql,
        webhook_id -> Text,
        event -> Text,
        status -> Text,
        attempts -> Integer,
        created_at -> database::TimestampSql,
        /// While pending: since when. Afterwards: when it was delivered or failed.
        pending_since -> database::TimestampSql,
        /// The next attempt; NULL after delivery or failure.
        due_at -> Nullable<database::TimestampSql>,
        claimed_until -> Nullable<database::TimestampSql>,
        delivered_at -> Nullable<database::TimestampSql>,
        last_error -> Nullable<Text>,
        /// `null` if [`webhook_messages`] has it, or had it.
        body -> database::JsonSql,
        /// The organisation whose act caused the event; an empty text without one.
        cause_id -> Text,
        /// The load or listing. NULL for tests, and if an earlier release stored the delivery.
        subject_id -> Nullable<database::IdSql>,
        /// The last [`Try`](outbox::Try)s, a JSON array.
        tries -> Nullable<Text>,
        /// The length of the body, here or in [`webhook_messages`]; 0 once it is deleted there.
        bytes -> BigInt,
    }
}

diesel::table! {
    /// The bodies of events, one for each, whatever the number of webhooks that get it.
    webhook_messages (id) {
        /// The id of the event, which its deliveries have too.
        id -> database::IdSql,
        /// The load or listing.
        subject_id -> Nullable<database::IdSql>,
        body -> database::JsonSql,
    }
}

diesel::table! {
    /// The users whom a message names: those who caused its event, or whose saved searches it is about.
    webhook_message_users (message_id, user_id) {
        message_id -> database::IdSql,
        user_id -> Text,
    }
}

diesel::table! {
    /// Loads and listings in which a user was erased, and whose deliveries still have to be rewritten.
    delivery_erasures (erased_id, id) {
        /// What the user id becomes.
        erased_id -> Text,
        id -> database::IdSql,
        /// The load or listing.
        subject_id -> database::IdSql,
        /// Ids of files that the user uploaded, in lower case, a JSON array.
        file_ids -> database::JsonSql,
        /// The last delivery that was rewritten. Before the first one: an empty text and zeros.
        webhook_id -> Text,
        delivery_id -> database::IdSql,
    }
}

diesel::allow_tables_to_appear_in_same_query!(webhooks, webhook_deliveries);
diesel::allow_tables_to_appear_in_same_query!(webhook_messages, webhook_message_users);

const SQLITE: EmbeddedMigrations = EmbeddedMigrations(&include_dir!("$CARGO_MANIFEST_DIR/migrations/sqlite"));
const POSTGRES: EmbeddedMigrations =
    EmbeddedMigrations(&include_dir!("$CARGO_MANIFEST_DIR/migrations/postgres"));
/// How Citus places the tables.
const DISTRIBUTION: Distribution = Distribution {
    distributed: &[
        DistributedTable {
            name: "webhook_deliveries",
            column: "webhook_id",
            primary_key: None,
            is_joined: false,
        },
        DistributedTable { name: "webhook_messages", column: "id", primary_key: None, is_joined: false },
        DistributedTable {
            name: "webhook_message_users",
            column: "message_id",
            primary_key: None,
            is_joined: false,
        },
    ],
    reference: &["webhooks"],
};

/// Returns the migrations of these tables.
pub fn migrations() -> Migrations {
    Migrations { sqlite: SQLITE, postgres: POSTGRES, shared: true, distribution: DISTRIBUTION }
}
