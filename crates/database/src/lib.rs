//! SQLite and PostgreSQL behind one connection type. The database URL selects one of them at start.
//!
//! A service writes each query once, against [`AnyConnection`], and runs it with [`Database::read`] or
//! [`Database::write`]. This crate contains all code for differences between the databases: column types, transactions,
//! migrations and constraint errors.

#![warn(unreachable_pub)]

mod citus;
mod commands;
mod connection;
mod database;
mod error;
pub mod feed;
mod metrics;
mod migrate;
mod options;
mod pool;
mod postgres;
pub mod prepared;
pub mod search;
mod sqlite;
mod standby;
mod types;
mod url;

pub use citus::{DistributedTable, Distribution};
pub use connection::{AnyConnection, MultiBackend, with_secure_delete};
pub use database::Database;
pub use error::{Cause, DatabaseFailure, Error};
pub use metrics::{client_span, record_error};
pub use migrate::{EmbeddedMigrations, Migrations, split_statements};
pub use options::{Options, Pooler, StandbyOptions};
pub use sqlite::backup::BackupProgress;
pub use types::{
    Amount, AmountError, Id, IdSql, Json, JsonSql, SERVER_NOW, Timestamp, TimestampSql, shared_now,
};
pub use url::DatabaseUrl;
