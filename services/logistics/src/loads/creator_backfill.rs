//! Fills in the creators of loads that an older version stored, a thousand at a time: one statement for a million loads
//! would block other writes for minutes. Replicas of an older version can add such loads at any time.

use std::time::{Duration, Instant};

use common::{Error, FailureStreak};
use database::Database;

use super::store::{CREATOR_BATCH_SIZE, fill_creators, has_unknown_creators};

/// How long the start of the service waits at most.
const START_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause between two checks for loads without a creator.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// Fills in creators for up to two seconds. [`run_creator_backfill`] fills in the rest.
///
/// # Errors
/// If the database fails.
pub(crate) async fn backfill_creators_at_start(db: &Database) -> Result<(), Error> {
    let start = Instant::now();
    while start.elapsed() < START_TIMEOUT && fill_batch(db).await? {}
    Ok(())
}

/// Fills in creators as long as the service runs.
pub(crate) async fn run_creator_backfill(db: &Database) {
    let mut failures = FailureStreak::default();
    loop {
        let start = Instant::now();
        let filled = fill_batch(db).await;
        // Uses at most half of the time, so that other writes can run.
        let pause = if matches!(filled, Ok(true)) { start.elapsed() } else { POLL_INTERVAL };
        if let Some(error) = failures.first(&filled) {
            tracing::warn!(error = format!("{error:?}"), "failed to fill in the creators of older loads");
        }
        tokio::time::sleep(pause).await;
    }
}

/// Fills in one batch. Returns true if there may be more.
async fn fill_batch(db: &Database) -> Result<bool, Error> {
    Ok(db.read(has_unknown_creators).await? && db.write(fill_creators).await? == CREATOR_BATCH_SIZE)
}
