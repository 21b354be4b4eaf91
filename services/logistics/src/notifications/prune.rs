//! Delivered and failed notifications are deleted after some time.

use std::time::Duration;

use common::{Error, FailureStreak};
use tokio::time::sleep;

use super::Dispatcher;
use super::store::{self, PRUNE_BATCH_SIZE};
use crate::Settings;
use crate::metrics::pruned;

/// The pause between two looks for old notifications.
const PRUNE_INTERVAL: Duration = Duration::from_secs(3600);
/// The pause after a thousand that were deleted: others write in between.
const CHUNK_PAUSE: Duration = Duration::from_millis(50);

impl Settings {
    /// How long delivered and failed notifications are kept.
    pub(super) fn notification_retention(&self) -> Duration {
        Duration::from_secs(u64::from(self.notification_retention_days) * 24 * 3600)
    }
}

impl Dispatcher {
    /// Deletes old notifications for as long as the service runs. Replicas may do so at once.
    pub async fn prune(&self) {
        let mut failures = FailureStreak::default();
        loop {
            if let Some(error) = failures.first(&self.prune_once().await) {
                tracing::warn!(error = format!("{error:?}"), "old notifications could not be deleted");
            }
            sleep(PRUNE_INTERVAL.mul_f64(rand::random_range(0.8..1.2))).await;
        }
    }

    async fn prune_once(&self) -> Result<(), Error> {
        loop {
            let age = self.retention;
            let count = self.db.write(move |c| store::prune(c, age)).await?;
            pruned().increment(count as u64);
            if count < PRUNE_BATCH_SIZE as usize {
                return Ok(());
            }
            sleep(CHUNK_PAUSE).await;
        }
    }
}
