//! A service on a free port of the test's process over a fresh database, users with signed tokens, and an HTTP client.
//!
//! Functions of this module panic where setup fails: a test reports a failure by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![warn(unreachable_pub)]

pub mod access;
pub mod app;
pub mod bad_response;
pub mod database;
pub mod feed;
mod forged_tokens;
pub mod hostile;
mod operation;
pub mod privacy;
pub mod process;
pub mod receiver;
pub mod servers;
pub mod standby_exports;
pub mod system_stub;
pub mod user;

/// Runs a future to completion on a new single-threaded Tokio runtime.
pub fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Returns how many random sequences of actions a test compares with its model: the variable `MODEL_SEQUENCES`, or else
/// this number.
///
/// # Panics
/// If the variable is not a number.
pub fn model_sequences(default: usize) -> usize {
    std::env::var("MODEL_SEQUENCES").map_or(default, |number| number.parse().expect("a number of sequences"))
}

/// Returns the URL of a server that all tests share from an environment variable.
///
/// # Panics
/// If the variable is not set.
fn url_from_env(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!(
            "{variable} is not set: run the tests with `cargo xtask test`, or start the servers with \
             `cargo xtask servers` and set the variables that it prints"
        )
    })
}
