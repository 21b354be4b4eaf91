//! The URL of a Redis: one server, a master that sentinels name, or a cluster.

use anyhow::{Context, Result, bail, ensure};
use redis::{ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo};
use url::Url;

const SENTINEL_PORT: u16 = 26379;
const CLUSTER_PORT: u16 = 6379;
/// Characters that end the credentials of a URL, or its host.
const NOT_IN_CREDENTIALS: [char; 3] = ['/', '?', '#'];
const NOT_IN_HOSTS: [char; 4] = ['/', '?', '#', '@'];

/// What a URL has to be, for error messages.
const EXPECTED: &str = "must be `memory:` or the URL of a Redis, for example `redis://cache.internal:6379/0`, \
                        `redis+sentinel://s1:26379,s2:26379/mymaster/0` or `redis+cluster://c1:6379,c2:6379`, and \
                        with TLS `rediss` in place of `redis`";
const SENTINEL_PATH: &str = "must name the master after the sentinels, and perhaps a database, for example \
                             `redis+sentinel://s1:26379,s2:26379/mymaster/0`";
const SENTINEL_PARAMETERS: &str = "takes the parameters `sentinel_user` and `sentinel_password` only, for example \
                                   `redis+sentinel://s1:26379/mymaster?sentinel_password=SECRET`";
const CLUSTER_PATH: &str = "must end with the nodes of the cluster, for example `redis+cluster://c1:6379,c2:6379`, \
                            because a cluster has one database and no parameters";
const HOSTS: &str = "must list hosts with commas, for example `s1:26379,s2:26379`, and escape special characters of \
                     passwords, for example `%2F` for `/`";

/// What a URL names.
pub(crate) enum RedisUrl {
    /// One server.
    Server(ConnectionInfo),
    /// A master that the sentinels name.
    Sentinel(SentinelUrl),
    /// Some nodes of a cluster, from which the others are found.
    Cluster(Vec<ConnectionInfo>),
}

/// A master that sentinels name.
pub(crate) struct SentinelUrl {
    /// The sentinels.
    pub(crate) sentinels: Vec<ConnectionInfo>,
    /// The name of the master.
    pub(crate) master: String,
    /// The database, and the user and the password of the master.
    pub(crate) settings: RedisConnectionInfo,
    /// Whether the master and the sentinels expect TLS.
    pub(crate) tls: bool,
}

impl RedisUrl {
    /// Parses a URL.
    ///
    /// # Errors
    /// Fails if the URL is invalid. The message is the rest of a sentence whose subject is the setting. It contains
    /// nothing of the URL.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let (scheme, rest) = url.split_once("://").context(EXPECTED)?;
        let (scheme, kind) = scheme.split_once('+').unwrap_or((scheme, ""));
        ensure!(["redis", "rediss"].contains(&scheme), EXPECTED);
        match kind {
            "" => Ok(Self::Server(url.into_connection_info().context(EXPECTED)?)),
            "sentinel" => Ok(Self::Sentinel(SentinelUrl::parse(scheme, &Parts::split(rest))?)),
            "cluster" => {
                let parts = Parts::split(rest);
                ensure!(["", "/", "/0"].contains(&parts.path) && parts.query.is_none(), CLUSTER_PATH);
                Ok(Self::Cluster(parts.servers(scheme, parts.credentials, CLUSTER_PORT)?))
            }
            _ => bail!(EXPECTED),
        }
    }
}

impl SentinelUrl {
    fn parse(scheme: &str, parts: &Parts<'_>) -> Result<Self> {
        let path = parts.path.strip_prefix('/').context(SENTINEL_PATH)?;
        let (master, database) = path.split_once('/').unwrap_or((path, "0"));
        // Sentinels accept no other characters in names.
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        ensure!(!master.is_empty() && master.bytes().all(is_allowed), SENTINEL_PATH);
        ensure!(database.parse::<u16>().is_ok(), SENTINEL_PATH);
        let sentinels = parts.servers(scheme, &sentinel_credentials(parts.query)?, SENTINEL_PORT)?;
        let server = format!("{scheme}://{}master/{database}", parts.credentials);
        let server = server.into_connection_info().context(HOSTS)?;
        Ok(Self {
            sentinels,
            master: master.to_owned(),
            settings: server.redis_settings().clone(),
            tls: scheme == "rediss",
        })
    }
}

/// Returns the credentials in the parameters, as they precede a host.
fn sentinel_credentials(query: Option<&str>) -> Result<String> {
    let (mut user, mut password) = ("", "");
    for parameter in query.into_iter().flat_map(|query| query.split('&')) {
        match parameter.split_once('=') {
            Some(("sentinel_user", value)) => user = value,
            Some(("sentinel_password", value)) => password = value,
            _ => bail!(SENTINEL_PARAMETERS),
        }
    }
    Ok(if user.is_empty() && password.is_empty() { String::new() } else { format!("{user}:{password}@") })
}

/// The parts of a URL with several hosts after its scheme. They are still escaped.
struct Parts<'a> {
    /// User and password with the `@` after them, or nothing.
    credentials: &'a str,
    hosts: &'a str,
    /// The path with the `/` before it, or nothing.
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> Parts<'a> {
    /// Splits the text after `://`.
    fn split(text: &'a str) -> Self {
        let (text, query) = text.split_once('?').map_or((text, None), |(text, query)| (text, Some(query)));
        let (authority, path) = text.split_at(text.find('/').unwrap_or(text.len()));
        let (credentials, hosts) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
        Self { credentials, hosts, path, query }
    }

    /// Returns a server with these credentials for each host.
    fn servers(&self, scheme: &str, credentials: &str, default_port: u16) -> Result<Vec<ConnectionInfo>> {
        let server = |host: &str| {
            if host.is_empty() || host.contains(NOT_IN_HOSTS) {
                return None;
            }
            let mut url = Url::parse(&format!("{scheme}://{credentials}{host}")).ok()?;
            url.set_port(url.port().or(Some(default_port))).ok()?;
            url.into_connection_info().ok()
        };
        // An unescaped character would end the credentials: a part of them would be the host.
        ensure!(![self.credentials, credentials].iter().any(|text| text.contains(NOT_IN_CREDENTIALS)), HOSTS);
        self.hosts.split(',').map(|host| server(host).context(HOSTS)).collect()
    }
}

/// Returns the URL of a Redis without its password and its parameters. Returns an empty text if the URL is invalid.
pub(crate) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://").filter(|(scheme, _)| scheme.contains('+')) else {
        let Ok(mut url) = Url::parse(url) else { return String::new() };
        // Fails for URLs that cannot have a password.
        let _ = url.set_password(None);
        return url.into();
    };
    if RedisUrl::parse(url).is_err() {
        return String::new();
    }
    let Parts { credentials, hosts, path, .. } = Parts::split(rest);
    let user = credentials.trim_end_matches('@').split(':').next().filter(|user| !user.is_empty());
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    format!("{scheme}://{user}{hosts}{path}")
}

#[cfg(test)]
mod tests;
