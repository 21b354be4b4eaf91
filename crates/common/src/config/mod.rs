//! Configuration: defaults, then a TOML file, then environment variables (`DROVER_SERVER__PORT` sets `server.port`).
//! Read once at start.

mod auth;
mod database;
mod docs;
mod environment;
mod error_message;
mod load;
mod log;
mod origins;
pub mod range;
pub mod redact;
mod server;
#[cfg(test)]
mod tests;
mod timeouts;
mod traces;

use serde::{Deserialize, Serialize};

pub use auth::{Auth, Claims};
pub use database::DatabaseConfig;
pub use docs::Docs;
pub(crate) use docs::DocsLogin;
pub use log::{Log, LogFormat};
pub(crate) use origins::allows_loopback;
pub use server::Server;
pub(crate) use timeouts::Timeouts;
pub use traces::Traces;
pub(crate) use traces::headers;

/// The whole configuration: the sections that every service has, and the service's own section.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config<S: Default> {
    /// HTTP server.
    pub server: Server,
    /// Database.
    pub database: DatabaseConfig,
    /// Verification of tokens.
    pub auth: Auth,
    /// Logging, until the settings document replaces the level.
    pub log: Log,
    /// Export of traces.
    pub traces: Traces,
    /// The service's own section.
    pub service: S,
}
