//! The migrations of the tables of webhooks.

use database::{DistributedTable, Distribution, EmbeddedMigrations, Migrations};
use include_dir::include_dir;

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
