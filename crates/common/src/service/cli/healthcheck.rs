//! The command `healthcheck`.

use std::time::Duration;

use anyhow::ensure;

use crate::http;

/// Timeout of the request.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Requests a path of the service on this machine, and prints the response.
///
/// # Errors
/// Fails if there is no response within 5 s, or if it is no success.
pub(super) async fn healthcheck(host: &str, port: u16, path: &str) -> anyhow::Result<()> {
    let url = format!("http://{}:{port}/{path}", connectable(host));
    // Never through a proxy, even if HTTP_PROXY is set.
    let client = http::builder(RESPONSE_TIMEOUT).no_proxy().build()?;
    let response = client.get(&url).send().await?;
    let (status, body) = (response.status(), response.text().await?);
    ensure!(status.is_success(), "{url} answered {status}: {body}");
    println!("{body}");
    Ok(())
}

/// Returns the host to connect to for an address to listen on.
fn connectable(host: &str) -> String {
    match host {
        "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "[::1]".to_owned(),
        host if host.contains(':') => format!("[{host}]"),
        host => host.to_owned(),
    }
}
