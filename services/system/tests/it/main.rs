//! The system service over HTTP, on SQLite and on PostgreSQL.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]

mod authorization;
mod cache;
mod counted;
mod countries;
mod document;
mod files;
mod places;
mod private;
