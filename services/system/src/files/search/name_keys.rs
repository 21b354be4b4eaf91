//! Puts the names of older files into lower case for searches, a thousand at a time. Replicas of an older version can
//! add such files at any time.

use std::time::{Duration, Instant};

use common::{Error, FailureStreak};
use database::Database;

use super::store::{NAME_BATCH_SIZE, find_without_name_key, set_name_keys};
use crate::files::model::name_key;

/// How long the start of the service waits at most.
const START_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause between two checks for files without such a name.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// Fills in names for up to two seconds. [`run_name_key_backfill`] fills in the rest.
///
/// # Errors
/// If the database fails.
pub(crate) async fn fill_name_keys_at_start(db: &Database) -> Result<(), Error> {
    let start = Instant::now();
    while start.elapsed() < START_TIMEOUT && fill_batch(db).await? {}
    Ok(())
}

/// Fills in names as long as the service runs.
pub(crate) async fn run_name_key_backfill(db: &Database) {
    let mut failures = FailureStreak::default();
    loop {
        let start = Instant::now();
        let filled = fill_batch(db).await;
        // Uses at most half of the time, so that other writes can run.
        let pause = if matches!(filled, Ok(true)) { start.elapsed() } else { POLL_INTERVAL };
        if let Some(error) = failures.first(&filled) {
            tracing::warn!(
                error = format!("{error:?}"),
                "failed to fill in the names of older files for searches"
            );
        }
        tokio::time::sleep(pause).await;
    }
}

/// Fills in one batch. Returns true if there may be more.
async fn fill_batch(db: &Database) -> Result<bool, Error> {
    let files = db.read(find_without_name_key).await?;
    if files.is_empty() {
        return Ok(false);
    }
    let is_full = files.len() == NAME_BATCH_SIZE;
    let keys: Vec<_> = files.into_iter().map(|(id, name)| (id, name_key(&name))).collect();
    db.write(move |c| set_name_keys(c, &keys)).await?;
    Ok(is_full)
}
