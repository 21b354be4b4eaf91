//! Fills in columns that older versions did not store, one batch after the other: one statement for a million rows
//! would block other writes for minutes. Replicas of an older version can add such rows at any time.

use std::future::Future;
use std::time::{Duration, Instant};

use crate::{Error, FailureStreak};

/// How long the start of the service waits at most.
const START_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause between two checks for rows to fill in.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// Fills in batches for up to two seconds. `fill_batch` returns true if there may be more. [`run`] fills in the rest.
///
/// # Errors
/// Those of `fill_batch`.
pub async fn run_at_start<F>(fill_batch: impl Fn() -> F) -> Result<(), Error>
where
    F: Future<Output = Result<bool, Error>>,
{
    let start = Instant::now();
    while start.elapsed() < START_TIMEOUT && fill_batch().await? {}
    Ok(())
}

/// Fills in batches as long as the service runs. `what` is filled in, for the log. Pauses after each batch for `rest`
/// times as long as the batch took, so that other writes can run.
pub async fn run<F>(what: &str, rest: u32, fill_batch: impl Fn() -> F)
where
    F: Future<Output = Result<bool, Error>>,
{
    let mut failures = FailureStreak::default();
    loop {
        let start = Instant::now();
        let filled = fill_batch().await;
        let pause = if matches!(filled, Ok(true)) { rest * start.elapsed() } else { POLL_INTERVAL };
        if let Some(error) = failures.first(&filled) {
            tracing::warn!(error = format!("{error:?}"), "failed to fill in {what}");
        }
        tokio::time::sleep(pause).await;
    }
}
