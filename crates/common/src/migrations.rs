//! The migrations of the tables that every service has.

use database::{DistributedTable, Distribution, EmbeddedMigrations, Migrations};
use diesel_migrations::embed_migrations;

const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");
/// How Citus places the tables.
const DISTRIBUTION: Distribution = Distribution {
    spread: &[
        DistributedTable { name: "idempotency_keys", column: "caller", primary_key: None, is_joined: false },
        DistributedTable { name: "file_uploaders", column: "subject_id", primary_key: None, is_joined: true },
    ],
    copied: &[],
};

/// The migrations of these tables.
pub(crate) const COMMON: Migrations =
    Migrations { sqlite: SQLITE, postgres: POSTGRES, shared: true, distribution: DISTRIBUTION };

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use database::{Database, Options, Pooler};

    use super::*;

    /// Opens a database that has only these tables.
    pub(crate) async fn open(test: &testkit::TestDatabase) -> Database {
        let options = Options {
            url: test.url.as_str().into(),
            schema: "common",
            pool_size: 2,
            pooler: Pooler::None,
            migrate: true,
            wait_timeout: Duration::from_secs(5),
        };
        Database::open(options, || vec![COMMON]).await.unwrap()
    }
}
