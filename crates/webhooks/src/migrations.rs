//! The migrations of the tables of webhooks.

use database::{EmbeddedMigrations, Migrations};
use diesel_migrations::embed_migrations;

const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// Returns the migrations of these tables.
pub fn migrations() -> Migrations {
    Migrations { sqlite: SQLITE, postgres: POSTGRES, shared: true }
}
