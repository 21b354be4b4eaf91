//! The database crate against a real SQLite file and a real PostgreSQL server.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]

mod backup;
mod clock;
mod columns;
mod durability;
mod group_commit;
mod migrations;
mod outages;
mod refusals;
mod statements;
mod support;
mod vanished;
mod writes;
