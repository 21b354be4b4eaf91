//! The HTTP client.

use std::time::Duration;

use reqwest::ClientBuilder;

use crate::error::Failure;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Without a byte for so long, the connection is given up. A feed is silent for up to 30 seconds.
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
        .map_err(|error| Failure::Local(format!("cannot create the HTTP client: {}", chain(&error))))
}

/// Returns an error of reqwest with its causes, without the URL.
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
