//! The migrations of the tables that every service has.

use database::{EmbeddedMigrations, Migrations};
use diesel_migrations::embed_migrations;

const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// The migrations of these tables.
pub(crate) const COMMON: Migrations = Migrations { sqlite: SQLITE, postgres: POSTGRES, shared: true };

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use database::{Database, Options};

    use super::*;

    /// Opens a database that has only these tables.
    pub(crate) async fn open(test: &testkit::TestDatabase) -> Database {
        let options = Options {
            url: test.url.as_str().into(),
            schema: "common",
            pool_size: 2,
            migrate: true,
            wait_timeout: Duration::from_secs(5),
        };
        Database::open(options, || vec![COMMON]).await.unwrap()
    }
}
