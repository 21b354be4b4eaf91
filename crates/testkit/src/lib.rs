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

mod app;
mod authorization;
mod client;
mod database;
mod discreet;
mod forged;
mod hostile;
mod private;
mod process;
mod redis;
mod rule;
mod s3;
mod server;
mod statements;
mod system;
mod user;

pub use app::{App, config};
pub use authorization::every_operation_refuses_whom_it_must;
pub use client::{Call, Reply};
pub use database::{Backend, TestDatabase, execute, on_server};
pub use discreet::errors_tell_nothing_of_the_inside;
pub use hostile::no_parameter_is_more_than_a_value;
pub use private::{PRIVATE_TEXT, private_user};
pub use process::{Ended, Process, run};
pub use redis::{Redis, redis_url};
pub use rule::{AccessCase, Rule};
pub use s3::S3;
pub use system::SystemStub;
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
