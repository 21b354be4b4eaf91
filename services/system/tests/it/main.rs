//! Tests of the system service over HTTP. Tests that reach the database run on SQLite and on PostgreSQL.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]

mod authorization;
mod cache;
mod check_config;
mod config;
mod countries;
mod files;
mod fixtures;
mod log_privacy;
mod log_redaction;
mod metrics;
mod openapi;
mod personal_data;
mod places;
mod service_accounts;
