//! Section `database`.

use database::Pooler;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

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
