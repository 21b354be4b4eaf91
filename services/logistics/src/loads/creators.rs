//! Loads from before creators were recorded get theirs a thousand at a time, beside all other work: one statement for a
//! million loads would make others wait for minutes. Loads that an older version stores meanwhile get theirs too.

use std::time::{Duration, Instant};

use common::{Error, FailureStreak};
use database::Database;

use super::store::{CREATOR_BATCH_SIZE, fill_creators, has_unknown_creators};

/// The start of the service waits this long at most.
const START_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause between two looks for loads that an older version stored.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// Fills in creators until none is missing, or for two seconds: the rest follows in the background.
///
/// # Errors
/// If the database fails.
pub(crate) async fn fill_creators_at_start(db: &Database) -> Result<(), Error> {
    let begun = Instant::now();
    while begun.elapsed() < START_TIMEOUT && fill_some(db).await? {}
    Ok(())
}

/// Fills in creators for as long as the service runs.
pub(crate) async fn keep_creators(db: &Database) {
    let mut failures = FailureStreak::default();
    loop {
        let begun = Instant::now();
        let filled = fill_some(db).await;
        // Leaves half of the time to other work.
        let pause = if matches!(filled, Ok(true)) { begun.elapsed() } else { POLL_INTERVAL };
        if let Some(error) = failures.first(&filled) {
            tracing::warn!(
                error = format!("{error:?}"),
                "the creators of older loads could not be filled in"
            );
        }
        tokio::time::sleep(pause).await;
    }
}

/// Fills in some. Returns whether there may be more.
async fn fill_some(db: &Database) -> Result<bool, Error> {
    Ok(db.read(has_unknown_creators).await? && db.write(fill_creators).await? == CREATOR_BATCH_SIZE)
}
