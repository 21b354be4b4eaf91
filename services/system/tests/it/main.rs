//! Tests of the system service over HTTP. Tests that reach the database run on SQLite and on PostgreSQL.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]

mod authorization;
mod cache;
mod check_config;
mod config;
mod countries;
mod files;
mod log_privacy;
mod log_redaction;
mod metrics;
mod openapi;
mod personal_data;
mod places;
mod security_log;
mod service_accounts;

use system::Settings;
use tempfile::TempDir;

/// An address where nothing listens.
const UNREACHABLE: &str = "127.0.0.1:9";

/// Puts the content store into an empty folder, which is deleted on drop.
fn with_temp_store(settings: Settings) -> (Settings, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store_url = store_url(&folder);
    (Settings { store_url, ..settings }, folder)
}

/// Returns the URL of the content store in a folder.
fn store_url(folder: &TempDir) -> String {
    format!("file://{}/store", folder.path().display())
}
