//! Clients for outgoing HTTP. Every client has a timeout.

use std::time::Duration;

use anyhow::anyhow;
use reqwest::{Client, ClientBuilder};
use url::Url;

/// Returns a client that follows no redirects. `timeout` limits a whole exchange, up to the end of the response.
///
/// # Errors
/// Fails if the client cannot be built, for example because the system has no usable TLS configuration.
pub fn client(timeout: Duration) -> anyhow::Result<Client> {
    Ok(builder(timeout).build()?)
}

/// Returns a builder with the settings of [`client`], for callers that change some of them.
pub(crate) fn builder(timeout: Duration) -> ClientBuilder {
    Client::builder()
        .timeout(timeout)
        .connect_timeout(timeout)
        .redirect(reqwest::redirect::Policy::none())
        // Shorter than the drain time of a service or proxy (`server.drain_seconds`). The peer may close a connection
        // that was idle for longer just as the next request is sent on it.
        .pool_idle_timeout(Duration::from_secs(5))
        .user_agent(concat!("drover/", env!("CARGO_PKG_VERSION")))
}

/// What the libraries of clients write if the name of a host cannot be resolved: the resolver of Rust, and libpq.
const UNRESOLVED: [&str; 2] = ["failed to lookup address information", "could not translate host name"];

/// Returns the error of a failed call of this URL without the URL, which may contain a secret. Says so if the name of
/// the host cannot be resolved.
pub(crate) fn failure(error: reqwest::Error, url: &Url) -> anyhow::Error {
    explain_unresolved(error.without_url().into(), url.host_str().unwrap_or_default())
}

/// Returns the error of a failed connection, or one that says that the name of the host cannot be resolved.
pub fn explain_unresolved(error: anyhow::Error, host: &str) -> anyhow::Error {
    let is_unresolved = |cause: &str| UNRESOLVED.iter().any(|text| cause.contains(text));
    if error.chain().any(|cause| is_unresolved(&cause.to_string())) {
        anyhow!("the host {host} cannot be resolved")
    } else {
        error
    }
}
