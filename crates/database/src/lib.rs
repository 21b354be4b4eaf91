//! SQLite and PostgreSQL behind one connection type. The database URL selects one of them at start.
//!
//! A service writes each query once, against [`AnyConnection`], and runs it with [`Database::read`] or
//! [`Database::write`]. This crate contains all code for differences between the databases: column types, transactions,
//! migrations and constraint errors.

#![warn(unreachable_pub)]

mod backend;
mod backup;
mod call;
mod citus;
mod clock;
mod commands;
mod connection;
mod database;
mod error;
mod group_commit;
mod log_checkpoints;
mod manager;
mod mapped_vfs;
mod metrics;
mod migrate;
mod options;
mod plan_mode;
mod pool;
mod postgres;
mod run_to_end;
pub mod search;
pub mod spans;
mod sqlite_files;
mod standby;
mod transaction;
mod types;
mod url;
mod watchdog;
mod writer;

pub use backup::BackupProgress;
pub use citus::{DistributedTable, Distribution};
pub use clock::{SERVER_NOW, shared_now};
pub use connection::{AnyConnection, MultiBackend, with_secure_delete};
pub use database::Database;
pub use error::{Cause, DatabaseFailure, Error};
pub use migrate::{EmbeddedMigrations, Migrations, split_statements};
pub use options::{Options, Pooler, StandbyOptions};
pub use types::{Amount, AmountError, Id, IdSql, Json, JsonSql, Timestamp, TimestampSql};
pub use url::DatabaseUrl;
