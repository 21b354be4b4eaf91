//! Clients for outgoing HTTP. Every client has a timeout.

use std::time::Duration;

use reqwest::{Client, ClientBuilder};

/// Returns a client that follows no redirects. `timeout` limits a whole exchange, up to the end of the response.
///
/// # Errors
/// Fails if the client cannot be built, for example because the system has no usable TLS configuration.
pub fn client(timeout: Duration) -> anyhow::Result<Client> {
    Ok(builder(timeout).build()?)
}

/// Returns a builder with the settings of [`client`], for callers that change some of them.
pub fn builder(timeout: Duration) -> ClientBuilder {
    Client::builder()
        .timeout(timeout)
        .connect_timeout(timeout)
        .redirect(reqwest::redirect::Policy::none())
        // Shorter than the drain time of a service or proxy (`server.drain_seconds`). The peer may close a connection
        // that was idle for longer just as the next request is sent on it.
        .pool_idle_timeout(Duration::from_secs(5))
        .user_agent(concat!("drover/", env!("CARGO_PKG_VERSION")))
}
