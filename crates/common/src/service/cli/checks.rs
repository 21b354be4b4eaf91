//! The checks of `check-config`. Each prints one line when it ends.

use std::future::Future;
use std::time::Duration;

use anyhow::{anyhow, bail};

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
