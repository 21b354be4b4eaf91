//! Test support: a service on a free port over a fresh database, users with signed tokens, and an HTTP client.
//!
//! ```text
//! testkit::on_both! {
//!     async fn strangers_see_no_loads(backend) {
//!         let app = App::start::<Logistics>(backend, Settings::default()).await;
//!         let response = app.get("/v1/loads").by(&User::of("stranger")).send().await;
//!         assert_eq!(response.ok(), json!([]));
//!     }
//! }
//! ```
//!
//! Functions of this crate panic where setup fails: a test reports a failure by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![warn(unreachable_pub)]

mod access_case;
mod app;
mod authorization;
mod client;
mod database;
mod erased_user;
mod executed_plan;
mod forged_tokens;
mod injection;
mod log_privacy;
mod mentions;
mod no_internals;
mod operation;
mod pgbouncer;
mod postgres_server;
mod process;
mod redis;
mod s3;
mod server;
mod standby_exports;
mod statements;
mod system_stub;
mod user;
mod webhook_access;
mod webhook_receiver;

pub use access_case::{AccessCase, AccessRule};
pub use app::{App, config};
pub use authorization::assert_access_rules;
pub use client::{TestRequest, TestResponse};
pub use database::{Backend, TestDatabase, execute, execute_on_server, options};
pub use erased_user::ErasedUser;
pub use executed_plan::ExecutedPlan;
pub use injection::{assert_control_characters_are_refused, assert_parameters_resist_injection};
pub use log_privacy::{PERSONAL_DATA, user_with_personal_data};
pub use no_internals::assert_errors_hide_internals;
pub use pgbouncer::PgBouncer;
pub use postgres_server::PostgresServer;
pub use process::{CommandOutput, Process, run_command};
pub use redis::{Redis, redis_url};
pub use s3::S3;
pub use standby_exports::assert_exports_read_from_standby;
pub use system_stub::SystemStub;
pub use user::{AUDIENCE, ISSUER, User, jwks_file};
pub use webhook_access::{TestWebhooks, webhook_access_rules, webhooks};
pub use webhook_receiver::{WebhookReceiver, wait_until, webhook_signature};

/// Defines tests that run on SQLite and on PostgreSQL, as `name::sqlite` and `name::postgres`.
#[macro_export]
macro_rules! on_both {
    ($($(#[$meta:meta])* async fn $name:ident($backend:ident) $body:block)+) => { $(
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            async fn run($backend: $crate::Backend) $body
            #[test]
            fn sqlite() {
                $crate::block_on(run($crate::Backend::Sqlite));
            }
            #[test]
            fn postgres() {
                $crate::block_on(run($crate::Backend::Postgres));
            }
        }
    )+ };
}

/// Runs a future to completion on a new single-threaded Tokio runtime.
pub fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
