//! HTTP clients with timeouts.

use std::time::Duration;

use reqwest::{Client, ClientBuilder};

/// Creates a client that follows no redirects. The timeout covers the whole response.
pub fn client(timeout: Duration) -> anyhow::Result<Client> {
    Ok(builder(timeout).build()?)
}

/// Returns the builder of [`client`] for further settings.
pub fn builder(timeout: Duration) -> ClientBuilder {
    Client::builder()
        .timeout(timeout)
        .connect_timeout(timeout)
        .redirect(reqwest::redirect::Policy::none())
        // Shorter than `server.drain_seconds`: a stopping service or proxy could close an idle connection just when a request
        // is sent on it.
        .pool_idle_timeout(Duration::from_secs(5))
        .user_agent(concat!("drover/", env!("CARGO_PKG_VERSION")))
}
