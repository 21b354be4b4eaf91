//! The migrations of the tables of webhooks.

use database::{DistributedTable, Distribution, EmbeddedMigrations, Migrations};
use diesel_migrations::embed_migrations;

const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");
/// How Citus places the tables.
const DISTRIBUTION: Distribution = Distribution {
    spread: &[DistributedTable {
        name: "webhook_deliveries",
        column: "webhook_id",
        primary_key: None,
        is_joined: false,
    }],
    copied: &["webhooks"],
};

/// Returns the migrations of these tables.
pub fn migrations() -> Migrations {
    Migrations { sqlite: SQLITE, postgres: POSTGRES, shared: true, distribution: DISTRIBUTION }
}
