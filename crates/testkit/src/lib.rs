//! For tests only: a service on a free port over a fresh database, users with tokens, and requests.
//!
//! ```text
//! testkit::on_both! {
//!     async fn a_stranger_sees_nothing(backend) {
//!         let app = App::start::<Logistics>(backend, Settings::default()).await;
//!         let reply = app.get("/v1/loads").by(&User::of("nobody")).send().await;
//!         assert_eq!(reply.status, 200);
//!     }
//! }
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod access_case;
mod app;
mod authorization;
mod client;
mod database;
mod forged_tokens;
mod injection;
mod log_privacy;
mod no_internals;
mod process;
mod redis;
mod s3;
mod server;
mod statements;
mod system_stub;
mod user;

pub use access_case::{AccessCase, AccessRule};
pub use app::{App, config};
pub use authorization::assert_access_rules;
pub use client::{TestRequest, TestResponse};
pub use database::{Backend, TestDatabase, execute, execute_on_server};
pub use injection::assert_parameters_resist_injection;
pub use log_privacy::{PERSONAL_DATA, user_with_personal_data};
pub use no_internals::assert_errors_hide_internals;
pub use process::{CommandOutput, Process, run_command};
pub use redis::{Redis, redis_url};
pub use s3::S3;
pub use system_stub::SystemStub;
pub use user::{AUDIENCE, ISSUER, User, jwks_file};

/// Runs a test on SQLite and on PostgreSQL, as `name::sqlite` and `name::postgres`.
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

/// Runs a future on a runtime of its own.
pub fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
