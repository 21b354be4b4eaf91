//! The commands `check-config`, whose checks print one line each when they end, and `healthcheck`.

use std::future::Future;
use std::time::Duration;

use anyhow::{anyhow, bail, ensure};

use crate::auth::Verifier;
use crate::http;

/// Time that a check may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The outcomes of the checks so far.
pub struct Checks {
    /// Leaves out what needs the network.
    offline: bool,
    /// The names and reasons of those that failed.
    failures: Vec<String>,
}

impl Checks {
    /// Begins. Leaves out what needs the network if `offline` is true.
    pub fn new(offline: bool) -> Self {
        Self { offline, failures: Vec::new() }
    }

    /// Runs a check of something on this machine, and prints `ok` with what it found, or `failed` with the reason and
    /// the remedy.
    pub async fn run(
        &mut self,
        name: &str,
        remedy: &str,
        check: impl Future<Output = anyhow::Result<String>>,
    ) {
        let outcome = tokio::time::timeout(TIMEOUT, check).await;
        match outcome.unwrap_or_else(|_| Err(anyhow!("no result within {TIMEOUT:?}"))) {
            Ok(found) => println!("ok {name}: {found}"),
            Err(error) => {
                let reason = format!("{name}: {error:#}: {remedy}").replace('\n', " ");
                println!("failed {reason}");
                self.failures.push(reason);
            }
        }
    }

    /// Runs a check that needs the network, unless that is to be left out.
    pub async fn run_online(
        &mut self,
        name: &str,
        remedy: &str,
        check: impl Future<Output = anyhow::Result<String>>,
    ) {
        if self.offline {
            println!("skipped {name}: --offline");
        } else {
            self.run(name, remedy, check).await;
        }
    }

    /// Checks that the keys of service accounts can be loaded, where the service accepts their tokens.
    pub async fn run_service_accounts(&mut self, verifier: &Verifier) {
        let remedy = "upgrade and start the system service, or set auth.service_accounts \
                      (DROVER_AUTH__SERVICE_ACCOUNTS) to false";
        let check = async {
            let found = verifier.check_service_accounts().await;
            found.unwrap_or_else(|| Ok("they are not accepted".to_owned()))
        };
        self.run_online("service accounts", remedy, check).await;
    }

    /// Ends the command.
    ///
    /// # Errors
    /// Fails if a check failed. The message has the reasons of all.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        if !self.failures.is_empty() {
            bail!("{}", self.failures.join("; "));
        }
        Ok(())
    }
}

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
