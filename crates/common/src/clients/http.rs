//! Outgoing HTTP: one way to make a client, timeouts always.

use std::time::Duration;

use reqwest::{Client, ClientBuilder};

/// A client that follows no redirect and waits at most this long for a whole answer.
pub fn client(timeout: Duration) -> anyhow::Result<Client> {
    Ok(builder(timeout).build()?)
}

/// The same, to be told more.
pub fn builder(timeout: Duration) -> ClientBuilder {
    Client::builder()
        .timeout(timeout)
        .connect_timeout(timeout)
        .redirect(reqwest::redirect::Policy::none())
        // Shorter than a service or proxy that is told to stop goes on for (`server.drain_seconds`): a connection that is
        // still kept then may be closed just as a request is sent on it.
        .pool_idle_timeout(Duration::from_secs(5))
        .user_agent(concat!("drover/", env!("CARGO_PKG_VERSION")))
}
