//! Section `server`.

use std::time::Duration;

use actix_web::{HttpRequest, web};
use anyhow::ensure;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::values;

/// Section `server`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// Address to listen on.
    pub host: String,
    /// Port to listen on; 0 selects a free port. Each service has its own default.
    pub port: u16,
    /// Base URL that clients use, for links in responses; by default `http://<host>:<port>`.
    #[serde(serialize_with = "values::url")]
    pub public_url: Option<Url>,
    /// URL of the console, to which `GET /` links.
    #[serde(serialize_with = "values::url")]
    pub console_url: Option<Url>,
    /// Threads that serve requests; 0: one per core.
    pub workers: usize,
    /// Maximum number of connections; further ones wait until one ends. A lower maximum applies if the process may open
    /// few files: connections take at most three quarters of that limit (`ulimit -Hn`).
    pub connections: usize,
    /// Timeout for the head of the first request on a connection, in seconds, 1 to 86400.
    #[serde(deserialize_with = "values::within::<1, 86_400, _, _>")]
    pub head_seconds: u64,
    /// Timeout for the next request on a connection to begin, in seconds, 1 to 86400. Its head must be complete within
    /// the sum of this and `head_seconds`, counted from the end of the previous response.
    #[serde(deserialize_with = "values::within::<1, 86_400, _, _>")]
    pub idle_seconds: u64,
    /// Timeout for a client that accepts no bytes of a response, or sends less than 16 KiB of a form in this time, in
    /// seconds, 1 to 86400. A JSON body must be complete within this time.
    #[serde(deserialize_with = "values::within::<1, 86_400, _, _>")]
    pub stalled_seconds: u64,
    /// How long the service still accepts requests after a signal to stop, in seconds. Meanwhile `/readyz` is 503 and
    /// every response closes its connection, so that proxies switch to other replicas. A second signal ends the drain,
    /// but not the requests in flight. 10 behind a proxy, 0 for development.
    pub drain_seconds: u64,
    /// Time for requests in flight to finish at shutdown, after `drain_seconds`, in seconds.
    pub shutdown_seconds: u64,
    /// Maximum size of a JSON body, in bytes.
    pub json_bytes: usize,
    /// Refuses requests with unknown query parameters. By default they are ignored, and named in the response header
    /// `X-Unknown-Parameters`.
    pub strict_parameters: bool,
    /// Stores at start, unless they exist, the records that the examples of the OpenAPI document name: a few loads,
    /// listings and files of the organisation `penybont-farm`. For demonstrations.
    pub demo_data: bool,
    /// Base URLs of the other services for the links on the docs page: `NAME=URL`, where the URL may be relative to the
    /// page. By default they follow from `public_url`.
    pub docs_links: Vec<String>,
    /// Origins that browsers may call from; `*` allows every origin. Without origins only the public route group has
    /// CORS headers.
    #[serde(serialize_with = "values::origins")]
    pub cors_origins: Vec<String>,
    /// Requests per second of one address to operations without authorization; 0: no limit.
    pub rate_per_second: u32,
    /// How many of these requests may arrive at once.
    pub rate_burst: u32,
    /// Addresses and networks of proxies whose `Forwarded` and `X-Forwarded-For` headers are trusted.
    pub trusted_proxies: Vec<String>,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".into(),
            port: 0,
            public_url: None,
            console_url: None,
            workers: 0,
            connections: 20_000,
            head_seconds: 10,
            idle_seconds: 75,
            stalled_seconds: 60,
            drain_seconds: 0,
            shutdown_seconds: 30,
            json_bytes: 1 << 20,
            strict_parameters: false,
            demo_data: false,
            docs_links: Vec::new(),
            cors_origins: Vec::new(),
            rate_per_second: 0,
            rate_burst: 100,
            trusted_proxies: Vec::new(),
        }
    }
}

impl Server {
    /// Validates the settings that deserialization does not validate.
    ///
    /// # Errors
    /// Names the setting to change.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        ensure!(
            self.console_url.as_ref().is_none_or(|url| ["http", "https"].contains(&url.scheme())),
            "server.console_url (DROVER_SERVER__CONSOLE_URL) must be the http:// or https:// URL of the console"
        );
        check_origins(&self.cors_origins)
    }
}

/// How long the service waits for a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// For the head of the first request on a connection.
    pub(crate) head: Duration,
    /// For the next request to begin. Its head must be complete within the sum of `idle` and `head`, counted from the
    /// end of the previous response.
    pub(crate) idle: Duration,
    /// While the client accepts no bytes of a response, or sends almost nothing of a body.
    pub(crate) stalled: Duration,
}

impl Timeouts {
    /// Returns the configured timeouts.
    pub(crate) fn new(server: &Server) -> Self {
        let [head, idle, stalled] =
            [server.head_seconds, server.idle_seconds, server.stalled_seconds].map(Duration::from_secs);
        Self { head, idle, stalled }
    }

    /// Returns the timeouts of the app that serves the request; the defaults if it has none.
    pub(crate) fn of(request: &HttpRequest) -> Self {
        let configured = request.app_data::<web::Data<Self>>().map(|timeouts| ***timeouts);
        configured.unwrap_or_else(|| Self::new(&Server::default()))
    }
}

/// The value that stands for all origins on the machine of the browser.
const LOOPBACK: &str = "loopback";

/// Checks that each origin has the form in which browsers send it.
///
/// # Errors
/// Names the first origin that has not.
fn check_origins(origins: &[String]) -> anyhow::Result<()> {
    for origin in origins {
        ensure!(
            origin == "*" || origin == LOOPBACK || is_origin(origin),
            "server.cors_origins (DROVER_SERVER__CORS_ORIGINS) has {}, which is not an origin: write each as \
             https://app.example or https://app.example:8443, in lower case, without a path, a slash at the end or \
             the default port; separate several with commas, or write * for every origin, or loopback for those on \
             localhost",
            if origin.contains('@') { "one with a user name".to_owned() } else { format!("\"{origin}\"") },
        );
    }
    Ok(())
}

fn is_origin(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    if url.origin().is_tuple() {
        return matches!(url.scheme(), "http" | "https")
            && !text.contains('*')
            && url.origin().ascii_serialization() == text;
    }
    // Apps that embed web pages have origins such as capacitor://localhost.
    let host = text.strip_prefix(url.scheme()).and_then(|rest| rest.strip_prefix("://"));
    host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@', '*', ' ']))
}

/// Returns true if one of the configured values allows an origin that it does not name.
pub(crate) fn allows_loopback(origins: &[String], origin: &str) -> bool {
    let is_loopback = || match Url::parse(origin).ok()?.host()? {
        Host::Domain(name) => Some(name == "localhost"),
        Host::Ipv4(address) => Some(address.is_loopback()),
        Host::Ipv6(address) => Some(address.is_loopback()),
    };
    origins.iter().any(|configured| configured == LOOPBACK) && is_loopback() == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_stands_for_all_ports_of_this_machine() {
        let configured = ["https://app.example".to_owned(), LOOPBACK.to_owned()];
        assert!(check_origins(&configured).is_ok());
        for allowed in ["http://localhost:5173", "https://127.0.0.1", "http://[::1]:3000"] {
            assert!(allows_loopback(&configured, allowed), "{allowed}");
            assert!(!allows_loopback(&configured[..1], allowed), "{allowed}");
        }
        for other in ["https://app.example", "http://localhost.evil.example", "http://192.168.1.2", "null"] {
            assert!(!allows_loopback(&configured, other), "{other}");
        }
    }

    #[test]
    fn accepts_only_origins_as_browsers_send_them() {
        for valid in [
            "*",
            "https://app.example",
            "http://localhost:3000",
            "https://[::1]:8443",
            "https://xn--bcher-kva.example",
            "capacitor://localhost",
        ] {
            assert!(check_origins(&[valid.to_owned()]).is_ok(), "{valid}");
        }
        for invalid in [
            "app.example",
            "localhost:3000",
            "https://app.example/",
            "https://app.example/x",
            "https://App.example",
            "https://app.example:443",
            "https://*.app.example",
            "https://bücher.example",
            "ftp://app.example",
            "https://",
            "null",
            "capacitor://",
            "https://app.example https://b.example",
        ] {
            let message = check_origins(&[invalid.to_owned()]).unwrap_err().to_string();
            for part in ["server.cors_origins (DROVER_SERVER__CORS_ORIGINS)", invalid, "https://app.example"]
            {
                assert!(message.contains(part), "{message}");
            }
        }
        let message = check_origins(&["https://ruth:s3cret@h".to_owned()]).unwrap_err().to_string();
        assert!(!message.contains("s3cret"), "{message}");
    }
}
