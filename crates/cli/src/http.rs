//! The HTTP client.

use std::time::Duration;

use reqwest::{ClientBuilder, Url};
use url::Host;

use crate::error::Failure;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The connection is closed if no byte arrives for this time. A feed is silent for up to 30 seconds.
const READ_TIMEOUT: Duration = Duration::from_secs(90);
/// How long the services wait for a form.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Makes an HTTP client. It follows no redirects: a secret would follow them too.
pub fn http() -> Result<reqwest::Client, Failure> {
    build(|client| client.read_timeout(READ_TIMEOUT))
}

/// Makes an HTTP client for uploads, during which nothing is read.
pub fn upload_http() -> Result<reqwest::Client, Failure> {
    build(|client| client.timeout(UPLOAD_TIMEOUT))
}

fn build(limit: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Result<reqwest::Client, Failure> {
    let client = reqwest::Client::builder()
        .user_agent(concat!("drover-cli/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none());
    limit(client)
        .build()
        .map_err(|error| Failure::Local(format!("Cannot create the HTTP client: {}.", chain(&error))))
}

/// Whether a secret may be sent to a URL: with TLS, or to this machine.
pub fn is_secure(url: &Url) -> bool {
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_local)
}

/// Returns the innermost cause of an error of reqwest. It does not contain the URL.
pub fn chain(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        causes.push(error.to_string());
        cause = error.source();
    }
    match causes.pop() {
        Some(last) => last,
        None if error.is_timeout() => "no answer in time".to_owned(),
        None => "the request failed".to_owned(),
    }
}
