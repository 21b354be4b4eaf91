//! The migrations of the tables that every service has.

use database::{DistributedTable, Distribution, EmbeddedMigrations, Migrations};
use include_dir::include_dir;

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
