//! Configuration: defaults, then a TOML file, then environment variables (`DROVER_SERVER__PORT` sets `server.port`).
//! Read once at start.

mod docs;
mod load;
mod server;
mod telemetry;
#[cfg(test)]
mod tests;
pub mod values;

use std::path::PathBuf;

use database::Pooler;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use url::Url;

pub use docs::Docs;
pub(crate) use docs::DocsLogin;
pub use load::{describe, load};
pub use server::Server;
pub(crate) use server::{Timeouts, allows_loopback};
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

/// Section `database`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DatabaseConfig {
    /// `sqlite://PATH` or `postgres://USER:PASSWORD@HOST/NAME`.
    #[serde(serialize_with = "without_password")]
    pub url: SecretString,
    /// The PostgreSQL URL of a standby for exports, which may lag. Empty: exports read from `url`.
    #[serde(serialize_with = "without_password")]
    pub read_url: SecretString,
    /// The longest lag of the standby, in milliseconds. While it lags more, exports read from `url`.
    pub read_max_lag_ms: u64,
    /// Size of the connection pool. On SQLite at most one more than there are cores, plus one connection that writes.
    pub pool_size: u32,
    /// The pooler between the service and PostgreSQL.
    pub pooler: Pooler,
    /// Whether the service applies pending migrations when it starts. Otherwise it does not start while there are any.
    pub migrate: bool,
    /// How long a request waits for a free connection, and for a database that does not respond, in milliseconds.
    pub wait_ms: u64,
}

impl Default for DatabaseConfig {
    fn default() -> Self {
        Self {
            url: SecretString::default(),
            read_url: SecretString::default(),
            read_max_lag_ms: 10_000,
            pool_size: 8,
            pooler: Pooler::None,
            migrate: true,
            wait_ms: 5000,
        }
    }
}

fn without_password<S: Serializer>(url: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    match database::DatabaseUrl::parse(url.expose_secret()) {
        Ok(url) => serializer.collect_str(&url),
        Err(_) => serializer.serialize_str(""),
    }
}

/// Section `auth`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Auth {
    /// JWKS file with the verification keys.
    pub jwks_file: Option<PathBuf>,
    /// JWKS URL of the identity provider: `https://`, or `http://` on this machine or in a private network. Redirects
    /// are not followed. The response must be complete within 5 s and have at most 1 MiB.
    #[serde(serialize_with = "values::url")]
    pub jwks_url: Option<Url>,
    /// The issuer (`iss`) that every token must have.
    pub issuer: Option<String>,
    /// The audience (`aud`) that every token must have.
    pub audience: Option<String>,
    /// Allowed difference between clocks, in seconds.
    pub leeway_seconds: u64,
    /// Whether tokens of service accounts (`docs/api/authentication.md`) are accepted, and issued by system. Default:
    /// `true` in system, and in services whose `service.system_url` is `https://` or in a private network.
    pub service_accounts: Option<bool>,
    /// Names of the claims.
    pub claims: Claims,
    /// Login on the docs page.
    pub docs: Docs,
}

impl Default for Auth {
    fn default() -> Self {
        Self {
            jwks_file: None,
            jwks_url: None,
            issuer: None,
            audience: None,
            leeway_seconds: 30,
            service_accounts: None,
            claims: Claims::default(),
            docs: Docs::default(),
        }
    }
}

/// Section `auth.claims`: the identity provider's names of the claims (`docs/api/authentication.md`). If a token has no
/// claim of a name, the name is a path of members of nested objects, separated by dots, such as `realm_access.roles`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Claims {
    /// User id.
    pub sub: String,
    /// User name.
    pub name: String,
    /// Organisation id.
    pub org: String,
    /// Organisation name.
    pub org_name: String,
    /// Array of roles.
    pub roles: String,
}

impl Default for Claims {
    fn default() -> Self {
        let [sub, name, org, org_name, roles] = ["sub", "name", "org", "orgName", "roles"].map(str::to_owned);
        Self { sub, name, org, org_name, roles }
    }
}
