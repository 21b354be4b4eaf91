//! Test support: services in the process of a test ([`in_process`]) and as processes of this machine ([`processes`]),
//! the servers that they need, and the data of trials, bench and demo ([`market`]).
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
//! `in_process` is a feature: `cargo xtask` is compiled first in a fresh clone, without the crates of the services.

#[cfg(feature = "in_process")]
pub mod in_process;
pub mod market;
pub mod processes;

#[cfg(feature = "in_process")]
pub use in_process::{
    access::{AccessCase, AccessRule, TestWebhooks, assert_access_rules, webhook_access_rules, webhooks},
    app::{App, ExecutedPlan, TestRequest, TestResponse, config, read_until},
    bad_response::BadResponse,
    block_on,
    database::{Backend, TestDatabase, execute, execute_on_server, options},
    feed::{FollowedResource, assert_feed_beside_writers, assert_feed_streams, assert_feed_waits},
    hostile::{
        assert_control_characters_are_refused, assert_errors_hide_internals,
        assert_parameters_resist_injection,
    },
    model_sequences,
    privacy::{ErasedUser, PERSONAL_DATA, user_with_personal_data},
    process::{CommandOutput, Process, assert_openapi_is_checked_in, run_command},
    receiver::{WebhookReceiver, wait_until, webhook_signature},
    servers::{PgBouncer, PostgresServer, Redis, S3, redis_url},
    standby_exports::assert_exports_read_from_standby,
    system_stub::{SystemStub, file_ids, named_files},
    user::{AUDIENCE, ISSUER, User, jwks_file, key_pem},
};

/// Defines tests that run on SQLite and on PostgreSQL, as `name::sqlite` and `name::postgres`.
#[cfg(feature = "in_process")]
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
