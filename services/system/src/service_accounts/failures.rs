//! The limit on failed attempts at the token endpoint (`docs/api/authentication.md`, "Get a token").

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::Error;
use database::Id;
use moka::future::Cache;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

/// The most failures of a client from an address in [`WINDOW`], which begins with the first one.
const MAX_FAILURES: u32 = 60;
const WINDOW: Duration = Duration::from_secs(60);
/// The most pairs of a client and an address that are remembered, about 5 MB. A flood of others makes the limiter
/// forget, which protects no guess: secrets have 256 random bits.
const MAX_PAIRS: u64 = 20_000;

/// A client id, hashed, and the address of the client.
type Pair = ([u8; 32], Option<IpAddr>);

/// Counts the failures of each client from each address in this replica.
pub(crate) struct FailureLimiter(Cache<Pair, Arc<Mutex<Failures>>>);

struct Failures {
    began: Instant,
    count: u32,
    /// Whether a success has followed the last failure.
    is_over: bool,
}

impl FailureLimiter {
    /// Creates a limiter that has counted nothing.
    pub(crate) fn new() -> Self {
        Self(Cache::builder().max_capacity(MAX_PAIRS).time_to_live(WINDOW).build())
    }

    /// Checks whether a client may try from an address.
    ///
    /// # Errors
    /// 429 after 60 failures in a minute.
    pub(super) async fn check(&self, client: &str, address: Option<IpAddr>) -> Result<(), Error> {
        match self.0.get(&pair(client, address)).await {
            Some(failures) => failures.lock().check(),
            None => Ok(()),
        }
    }

    /// Counts a failure.
    ///
    /// # Errors
    /// 429 if concurrent attempts have reached the limit meanwhile.
    pub(super) async fn record(&self, client: &str, address: Option<IpAddr>) -> Result<(), Error> {
        let none =
            async { Arc::new(Mutex::new(Failures { began: Instant::now(), count: 0, is_over: false })) };
        let failures = self.0.get_with(pair(client, address), none).await;
        let mut failures = failures.lock();
        failures.check()?;
        failures.count += 1;
        failures.is_over = false;
        Ok(())
    }

    /// Notes a success. Returns the number of failures in this minute if it is the first one after them, else 0.
    pub(super) async fn end(&self, client: &str, address: Option<IpAddr>) -> u32 {
        let Some(failures) = self.0.get(&pair(client, address)).await else { return 0 };
        let mut failures = failures.lock();
        let was_over = std::mem::replace(&mut failures.is_over, true);
        if was_over { 0 } else { failures.count }
    }
}

impl Failures {
    fn check(&self) -> Result<(), Error> {
        match WINDOW.checked_sub(self.began.elapsed()) {
            Some(left) if self.count >= MAX_FAILURES => Err(Error::RateLimited(left.as_secs() + 1)),
            _ => Ok(()),
        }
    }
}

/// An id counts as the same client in any case.
fn pair(client: &str, address: Option<IpAddr>) -> Pair {
    let id = Id::parse(client).map(|id| id.to_string());
    (Sha256::digest(id.as_deref().unwrap_or(client)).into(), address)
}
