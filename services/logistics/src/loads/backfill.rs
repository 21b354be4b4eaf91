//! Fills in what older versions did not store of loads, a thousand at a time: one statement for a million loads would
//! block other writes for minutes. Replicas of an older version can add such loads at any time.

use std::time::{Duration, Instant};

use common::{Error, FailureStreak};
use database::{AnyConnection, Database};

use super::store::{
    BACKFILL_SIZE, fill_creators, fill_similarity_keys, has_unknown_creators, has_unknown_similarity,
};

/// How long the start of the service waits at most.
const START_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause between two checks for loads to fill in.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// A column to fill in: whether there are such loads, and the function that fills in some and returns their number.
type Column = (fn(&mut AnyConnection) -> Result<bool, Error>, fn(&mut AnyConnection) -> Result<usize, Error>);

/// The creator first: loads with a similar reference are found by it.
const COLUMNS: [Column; 2] =
    [(has_unknown_creators, fill_creators), (has_unknown_similarity, fill_similarity_keys)];

/// Fills in loads for up to two seconds. [`run_backfill`] fills in the rest.
///
/// # Errors
/// If the database fails.
pub(crate) async fn backfill_at_start(db: &Database) -> Result<(), Error> {
    let start = Instant::now();
    while start.elapsed() < START_TIMEOUT && fill_batch(db).await? {}
    Ok(())
}

/// Fills in loads as long as the service runs.
pub(crate) async fn run_backfill(db: &Database) {
    let mut failures = FailureStreak::default();
    loop {
        let start = Instant::now();
        let filled = fill_batch(db).await;
        // Uses at most half of the time, so that other writes can run.
        let pause = if matches!(filled, Ok(true)) { start.elapsed() } else { POLL_INTERVAL };
        if let Some(error) = failures.first(&filled) {
            tracing::warn!(error = format!("{error:?}"), "failed to fill in columns of older loads");
        }
        tokio::time::sleep(pause).await;
    }
}

/// Fills in one batch of each column. Returns true if there may be more.
async fn fill_batch(db: &Database) -> Result<bool, Error> {
    let mut has_more = false;
    for (has_unknown, fill) in COLUMNS {
        has_more |= db.read(has_unknown).await? && db.write(fill).await? == BACKFILL_SIZE;
    }
    Ok(has_more)
}
