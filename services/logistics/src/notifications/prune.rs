//! Delivered and failed notifications are deleted after some time.

use std::time::Duration;

use anyhow::ensure;
use common::Error;
use tokio::time::sleep;

use super::Dispatcher;
use super::store::{self, PRUNED_AT_ONCE};
use crate::Settings;
use crate::measured::pruned;

/// The pause between two looks for old notifications.
const PRUNE_INTERVAL: Duration = Duration::from_secs(3600);
/// The pause after a thousand that were deleted: others write in between.
const CHUNK_PAUSE: Duration = Duration::from_millis(50);

/// Checks `service.notification_retention_days`.
///
/// # Errors
/// The range that is allowed.
pub fn check_retention(settings: &Settings) -> anyhow::Result<Duration> {
    let days = settings.notification_retention_days;
    ensure!(
        (1..=36_500).contains(&days),
        "service.notification_retention_days (DROVER_SERVICE__NOTIFICATION_RETENTION_DAYS) is {days}: \
         set it to 1 to 36500"
    );
    Ok(Duration::from_secs(u64::from(days) * 24 * 3600))
}

impl Dispatcher {
    /// Deletes old notifications for as long as the service runs. Replicas may do so at once.
    pub async fn prune(&self) {
        let mut well = true;
        loop {
            let done = self.prune_once().await;
            if let (Err(error), true) = (&done, well) {
                tracing::warn!(error = format!("{error:?}"), "old notifications could not be deleted");
            }
            well = done.is_ok();
            sleep(PRUNE_INTERVAL.mul_f64(rand::random_range(0.8..1.2))).await;
        }
    }

    async fn prune_once(&self) -> Result<(), Error> {
        loop {
            let age = self.retention;
            let count = self.db.write(move |c| store::prune(c, age)).await?;
            pruned().increment(count as u64);
            if count < PRUNED_AT_ONCE as usize {
                return Ok(());
            }
            sleep(CHUNK_PAUSE).await;
        }
    }
}
