//! Configuration: read once, in main, into these structs. Defaults in code, then a TOML file, then environment
//! variables (`DROVER_SERVER__PORT` is `server.port`).

mod environment;
mod explain;
pub mod number;
mod origins;
pub mod shown;
#[cfg(test)]
mod tests;
mod traces;

use std::fs;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use url::Url;

pub use traces::Traces;
pub(crate) use traces::headers;

/// Everything a service is told: the sections that all services have, and its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config<S: Default> {
    /// Listening.
    pub server: Server,
    /// The database.
    pub database: DatabaseConfig,
    /// Who may call.
    pub auth: Auth,
    /// Logging until the settings document says otherwise.
    pub log: Log,
    /// Where traces go.
    pub traces: Traces,
    /// What this service alone needs.
    pub service: S,
}

/// Section `server`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// Address to listen on.
    pub host: String,
    /// Port to listen on; 0 takes a free one. Each service has its own default.
    pub port: u16,
    /// The base URL that clients use, for links in answers; by default `http://<host>:<port>`.
    #[serde(serialize_with = "shown::address")]
    pub public_url: Option<Url>,
    /// Threads that serve requests; 0: one for each core.
    pub workers: usize,
    /// The most connections at once; more wait for one to end. However many, they leave a quarter of the files that the
    /// system lets the process have (`ulimit -Hn`) for its work.
    pub connections: usize,
    /// How long the head of a connection's first request may take to come in, in seconds, 1 to 86400.
    #[serde(deserialize_with = "number::within::<1, 86_400, _, _>")]
    pub head_seconds: u64,
    /// How long a connection is kept for the next request to begin, in seconds, 1 to 86400. The head of that must be
    /// there within this and `head_seconds`, from the end of the answer before.
    #[serde(deserialize_with = "number::within::<1, 86_400, _, _>")]
    pub idle_seconds: u64,
    /// A client that takes nothing of an answer for so long, or sends less than 16 KiB of a form, is given up, in
    /// seconds, 1 to 86400; a JSON body must be there within it.
    #[serde(deserialize_with = "number::within::<1, 86_400, _, _>")]
    pub stalled_seconds: u64,
    /// How long the service goes on when it is told to stop, in seconds, while `/readyz` says 503 and each answer ends its
    /// connection, so that proxies go elsewhere; a second signal ends that, not what is under way. Behind a proxy 10, on a
    /// desk 0.
    pub drain_seconds: u64,
    /// How long requests in flight may take to finish at shutdown, after `drain_seconds`, in seconds.
    pub shutdown_seconds: u64,
    /// The most bytes of a JSON body.
    pub json_bytes: usize,
    /// Origins that browsers may call from, `*` for any; none: no CORS headers but on the public route group.
    #[serde(serialize_with = "shown::origins")]
    pub cors_origins: Vec<String>,
    /// Requests a second that one address may make to operations without authorization; 0: no limit.
    pub rate_per_second: u32,
    /// How many of them may come at once.
    pub rate_burst: u32,
    /// Addresses and networks of proxies whose `Forwarded` and `X-Forwarded-For` are believed.
    pub trusted_proxies: Vec<String>,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".into(),
            port: 0,
            public_url: None,
            workers: 0,
            connections: 20_000,
            head_seconds: 10,
            idle_seconds: 75,
            stalled_seconds: 60,
            drain_seconds: 0,
            shutdown_seconds: 30,
            json_bytes: 1 << 20,
            cors_origins: Vec::new(),
            rate_per_second: 0,
            rate_burst: 100,
            trusted_proxies: Vec::new(),
        }
    }
}

impl Server {
    /// Says which setting cannot work.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        origins::check(&self.cors_origins)
    }
}

/// Section `database`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DatabaseConfig {
    /// `sqlite://PATH` or `postgres://USER:PASSWORD@HOST/NAME`.
    #[serde(serialize_with = "without_password")]
    pub url: SecretString,
    /// Connections; on SQLite, where one writes beside them, at most one more than there are cores.
    pub pool_size: u32,
    /// Whether the service brings its schema up to date when it starts; otherwise it starts only once that is done.
    pub migrate: bool,
    /// How long a request waits for a free connection, and for a database that gives no sign, in milliseconds.
    pub wait_ms: u64,
}

impl Default for DatabaseConfig {
    fn default() -> Self {
        Self { url: SecretString::default(), pool_size: 8, migrate: true, wait_ms: 5000 }
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
    /// JWKS address of the identity provider: `https://`, or `http://` on this machine or within a private network. No
    /// redirect is followed, an answer has at most 1 MiB and 5 s.
    #[serde(serialize_with = "shown::address")]
    pub jwks_url: Option<Url>,
    /// The only issuer (`iss`) whose tokens pass.
    pub issuer: Option<String>,
    /// The audience (`aud`) that tokens must be for.
    pub audience: Option<String>,
    /// How far clocks may differ, in seconds.
    pub leeway_seconds: u64,
    /// Names of the claims.
    pub claims: Claims,
}

impl Default for Auth {
    fn default() -> Self {
        Self {
            jwks_file: None,
            jwks_url: None,
            issuer: None,
            audience: None,
            leeway_seconds: 30,
            claims: Claims::default(),
        }
    }
}

/// Section `auth.claims`: what the identity provider calls what we call `sub`, `name`, ….
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

/// Section `log`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// How lines look.
    pub format: LogFormat,
    /// `off`, `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Json, level: "info".into() }
    }
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One JSON object a line, for machines.
    Json,
    /// For a person at a terminal.
    Pretty,
}

impl<S: Default + Serialize + DeserializeOwned> Config<S> {
    /// Reads all layers over the defaults.
    ///
    /// # Errors
    /// A sentence that names the setting that is unknown or has a wrong value, or the file that cannot be read.
    pub fn load(defaults: Self, file: Option<&Path>) -> anyhow::Result<Self> {
        // What is no UTF-8 is no setting of ours either.
        let variables =
            std::env::vars_os().filter_map(|(n, v)| Some((n.into_string().ok()?, v.into_string().ok()?)));
        Self::merge(&defaults, file, variables)
    }

    fn merge(
        defaults: &Self,
        file: Option<&Path>,
        variables: impl Iterator<Item = (String, String)>,
    ) -> anyhow::Result<Self> {
        let mut layers = config::Config::builder().add_source(config::Config::try_from(defaults)?);
        if let Some(path) = file {
            let text = fs::read_to_string(path).map_err(|error| {
                let path = path.display();
                anyhow::anyhow!("the configuration file {path} (--config) cannot be read: {error}")
            })?;
            layers = layers.add_source(config::File::from_str(&text, config::FileFormat::Toml));
        }
        let layers = environment::lay_over(layers, &serde_json::to_value(defaults)?, variables)
            .map_err(|error| anyhow::anyhow!("an environment variable cannot be read: {error}"))?;
        let merged = layers.build().map_err(|error| {
            let (file, error) = (file.unwrap_or(Path::new("")).display(), error.to_string());
            anyhow::anyhow!("the configuration file {file} is not TOML: {}", shown::redact(&error))
        })?;
        merged.clone().try_deserialize().map_err(|error| {
            anyhow::anyhow!(explain::explain(&error, defaults, |key| merged.get_string(key).ok()))
        })
    }

    /// One line for each setting: its environment variable and its value. Secrets are not among them.
    pub fn describe(&self) -> String {
        let mut lines = Vec::new();
        flatten("DROVER_", &serde_json::to_value(self).unwrap_or_default(), &mut lines);
        lines.join("\n")
    }
}

fn flatten(name: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                let separator = if name.ends_with('_') { "" } else { "__" };
                flatten(&format!("{name}{separator}{}", member.to_uppercase()), value, lines);
            }
        }
        Value::Null => lines.push(format!("{name}=")),
        Value::String(text) => lines.push(format!("{name}={text}")),
        Value::Array(items) => {
            let items: Vec<_> =
                items.iter().map(|i| i.as_str().map_or_else(|| i.to_string(), str::to_owned)).collect();
            lines.push(format!("{name}={}", items.join(",")));
        }
        other => lines.push(format!("{name}={other}")),
    }
}
