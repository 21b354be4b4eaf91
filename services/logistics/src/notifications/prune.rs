//! Deletion of delivered and failed notifications after the retention period.

use std::time::Duration;

use common::{Error, FailureStreak};
use database::Database;
use tokio::time::sleep;

use super::metrics::pruned;
use super::store::{self, PRUNE_BATCH_SIZE};

/// Mean interval between two runs.
const PRUNE_INTERVAL: Duration = Duration::from_secs(3600);
/// Pause between two batches, in which others can write.
const BATCH_PAUSE: Duration = Duration::from_millis(50);

/// Deletes notifications that were delivered or failed longer ago than `retention`, for as long as the service runs.
/// Several replicas may do so at once.
pub(crate) async fn prune_periodically(db: &Database, retention: Duration) {
    let mut failures = FailureStreak::default();
    loop {
        if let Some(error) = failures.first(&prune(db, retention).await) {
            tracing::warn!(error = format!("{error:?}"), "old notifications could not be deleted");
        }
        sleep(PRUNE_INTERVAL.mul_f64(rand::random_range(0.8..1.2))).await;
    }
}

async fn prune(db: &Database, retention: Duration) -> Result<(), Error> {
    loop {
        let count = db.write(move |c| store::prune(c, retention)).await?;
        pruned().increment(count as u64);
        if count < PRUNE_BATCH_SIZE as usize {
            return Ok(());
        }
        sleep(BATCH_PAUSE).await;
    }
}
