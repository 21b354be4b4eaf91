//! Tests of the database crate with real SQLite files and a real PostgreSQL server.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]

mod backup;
mod clock;
mod columns;
mod durability;
mod group_commit;
mod invalid_options;
mod language;
mod log_size;
mod mapped_reads;
mod migrations;
mod missing_files;
mod outages;
mod poolers;
mod prepared_statements;
mod service_migrations;
mod stalls;
mod standby;
mod statements;
mod support;
mod vacuum;
mod writes;
