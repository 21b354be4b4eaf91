//! The tables that every service has, and their migrations.

use database::{DistributedTable, Distribution, EmbeddedMigrations, Migrations};
use include_dir::include_dir;

diesel::table! {
    /// Settings that administrators change at run time: one row.
    settings (id) {
        id -> Integer,
        document -> database::JsonSql,
    }
}

diesel::table! {
    /// Idempotency keys, with the responses to replay.
    idempotency_keys (caller, operation, key) {
        /// JSON array of the user id and the organisation id, which is empty for a caller without an organisation.
        caller -> Text,
        /// Method and route pattern, or the name that `claim` was called with.
        operation -> Text,
        key -> Text,
        /// Base64 of SHA-256; empty for a claimed key.
        fingerprint -> Text,
        /// The response; `{}` for a claimed key.
        answer -> database::JsonSql,
        created_at -> database::TimestampSql,
        /// The id of the load that the response shows, if it shows files with the names of their uploaders.
        subject_id -> Nullable<Text>,
    }
}

diesel::table! {
    /// The outbox of files to share.
    due_shares (id) {
        id -> database::IdSql,
        /// The load or listing.
        subject_id -> database::IdSql,
        /// `organisation <id>` or `user <id>`.
        tenant -> Text,
        /// JSON array.
        file_ids -> database::JsonSql,
        /// JSON array of organisation ids; `*` is everybody.
        organisations -> database::JsonSql,
        /// The token of the caller.
        token -> Text,
        token_expires_at -> database::TimestampSql,
        created_at -> database::TimestampSql,
        /// When the next attempt is due.
        due_at -> database::TimestampSql,
        /// End of the lease of the current attempt.
        claimed_until -> Nullable<database::TimestampSql>,
        /// Number of attempts, including the current one.
        attempts -> Integer,
        /// The user whose token it is. NULL if an older version stored the share.
        user_id -> Nullable<Text>,
    }
}

diesel::table! {
    /// The users who uploaded the files of loads and listings.
    file_uploaders (user_id, subject_id, file_id) {
        user_id -> Text,
        /// The load or listing.
        subject_id -> database::IdSql,
        file_id -> database::IdSql,
    }
}

diesel::table! {
    /// Erasures of personal data that are not finished.
    erasures (user_hash) {
        /// Base64 of the SHA-256 of the user id.
        user_hash -> Text,
        /// What the user id becomes.
        erased_id -> Text,
        started_at -> database::TimestampSql,
    }
}

const SQLITE: EmbeddedMigrations = EmbeddedMigrations(&include_dir!("$CARGO_MANIFEST_DIR/migrations/sqlite"));
const POSTGRES: EmbeddedMigrations =
    EmbeddedMigrations(&include_dir!("$CARGO_MANIFEST_DIR/migrations/postgres"));
/// How Citus places the tables.
const DISTRIBUTION: Distribution = Distribution {
    distributed: &[
        DistributedTable { name: "idempotency_keys", column: "caller", primary_key: None, is_joined: false },
        DistributedTable { name: "file_uploaders", column: "subject_id", primary_key: None, is_joined: true },
    ],
    reference: &[],
};

/// The migrations of these tables.
pub(crate) const COMMON: Migrations =
    Migrations { sqlite: SQLITE, postgres: POSTGRES, shared: true, distribution: DISTRIBUTION };

#[cfg(test)]
pub(crate) mod tests {
    use database::Database;

    use super::*;

    /// Opens a database that has only these tables.
    pub(crate) async fn open(test: &testkit::TestDatabase) -> Database {
        let options = testkit::options(&test.url, "common");
        Database::open(options, || vec![COMMON]).await.unwrap()
    }
}
