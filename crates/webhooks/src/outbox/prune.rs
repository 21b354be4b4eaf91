//! Deletion of delivered and failed messages after the retention period.

use std::time::Duration;

use common::{Error, FailureStreak};
use database::Database;
use tokio::time::sleep;

use super::metrics::OutboxMetrics;
use super::model::Outbox;
use super::store::{self, PRUNE_BATCH_SIZE};

/// Mean interval between two runs.
const PRUNE_INTERVAL: Duration = Duration::from_secs(3600);
/// Pause between two batches, in which others can write.
const BATCH_PAUSE: Duration = Duration::from_millis(50);

/// Deletes messages that were delivered or failed longer ago than `retention`, for as long as the service runs. Several
/// replicas may do so at once.
pub(super) async fn prune_periodically(
    db: &Database,
    outbox: &'static Outbox,
    metrics: &OutboxMetrics,
    retention: Duration,
) {
    let mut failures = FailureStreak::default();
    loop {
        if let Some(error) = failures.first(&prune(db, outbox, metrics, retention).await) {
            tracing::warn!(error = format!("{error:?}"), "old {} could not be deleted", outbox.plural);
        }
        sleep(PRUNE_INTERVAL.mul_f64(rand::random_range(0.8..1.2))).await;
    }
}

async fn prune(
    db: &Database,
    outbox: &'static Outbox,
    metrics: &OutboxMetrics,
    retention: Duration,
) -> Result<(), Error> {
    loop {
        let count = db.write(move |c| store::prune(c, outbox, retention)).await?;
        metrics.pruned().increment(count as u64);
        if count < PRUNE_BATCH_SIZE as usize {
            return Ok(());
        }
        sleep(BATCH_PAUSE).await;
    }
}
