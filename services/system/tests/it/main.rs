//! The system service over HTTP, on SQLite and on PostgreSQL.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]

mod cache;
mod document;
mod files;
