//! Configuration: defaults, then a TOML file, then environment variables (`DROVER_SERVER__PORT` sets `server.port`).
//! Read once at start.

mod auth;
mod database;
mod docs;
mod load;
mod origins;
mod server;
mod telemetry;
#[cfg(test)]
mod tests;
pub mod values;

use serde::{Deserialize, Serialize};

pub use auth::{Auth, Claims};
pub use database::DatabaseConfig;
pub use docs::Docs;
pub(crate) use docs::DocsLogin;
pub use load::{describe, load};
pub(crate) use origins::allows_loopback;
pub use server::Server;
pub(crate) use server::Timeouts;
pub(crate) use telemetry::headers;
pub use telemetry::{Log, LogFormat, Traces};

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

/// The configuration of a [site](crate::Site), which has no database and verifies no tokens.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SiteConfig<S: Default> {
    /// HTTP server.
    pub server: Server,
    /// Logging.
    pub log: Log,
    /// Export of traces.
    pub traces: Traces,
    /// The site's own section.
    pub service: S,
}
