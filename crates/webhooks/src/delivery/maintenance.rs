//! Background work on the deliveries of webhooks that are disabled, deleted or too slow.

use std::time::Duration;

use common::{Error, FailureStreak};
use database::Database;
use metrics::gauge;
use tokio::time::sleep;

use super::store;
use crate::webhook::{self, DISABLED_REASON, WebhookStatus};

/// The number of webhooks that are disabled.
pub(crate) const DISABLED: &str = "drover_webhooks_disabled";
/// Mean interval between two runs.
const INTERVAL: Duration = Duration::from_secs(5);
/// Number of runs between two checks of the number of pending deliveries, which counts all of them.
const RUNS_PER_COUNT: u32 = 12;
/// Pause between two batches, in which others can write.
const BATCH_PAUSE: Duration = Duration::from_millis(50);
/// The most pending deliveries of a webhook. Above it, the oldest ones fail.
const MAX_PENDING: i64 = 100_000;

/// Makes the pending deliveries of disabled webhooks fail, deletes those of deleted ones, and limits the pending ones
/// of each webhook, for as long as the service runs. Several replicas may do so at once.
pub(crate) async fn maintain(db: &Database) {
    let mut failures = FailureStreak::default();
    let mut run = 0_u32;
    loop {
        if let Some(error) = failures.first(&maintain_once(db, run.is_multiple_of(RUNS_PER_COUNT)).await) {
            tracing::warn!(
                error = format!("{error:?}"),
                "deliveries of inactive webhooks could not be changed"
            );
        }
        run = run.wrapping_add(1);
        sleep(INTERVAL.mul_f64(rand::random_range(0.8..1.2))).await;
    }
}

async fn maintain_once(db: &Database, counts: bool) -> Result<(), Error> {
    let disabled = db.read(webhook::store::count_disabled).await?;
    #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
    gauge!(DISABLED).set(disabled as f64);
    for (id, status) in db.read(webhook::store::list_unfinished).await? {
        if status == WebhookStatus::DELETED {
            delete(db, &id).await?;
        } else {
            fail(db, &id, DISABLED_REASON, 0).await?;
        }
    }
    if counts {
        for id in db.read(|c| store::crowded(c, MAX_PENDING)).await? {
            tracing::warn!(webhook = id, "a webhook has too many pending deliveries: the oldest ones fail");
            fail(db, &id, "more than 100,000 deliveries were pending", MAX_PENDING).await?;
        }
    }
    Ok(())
}

/// Makes pending deliveries of a webhook fail, except the newest `kept` ones.
async fn fail(db: &Database, webhook: &str, reason: &'static str, kept: i64) -> Result<(), Error> {
    loop {
        let id = webhook.to_owned();
        if !db.write(move |c| store::fail_pending(c, &id, reason, kept)).await? {
            return Ok(());
        }
        sleep(BATCH_PAUSE).await;
    }
}

/// Deletes the deliveries of a deleted webhook, then the webhook.
async fn delete(db: &Database, webhook: &str) -> Result<(), Error> {
    loop {
        let id = webhook.to_owned();
        if !db.write(move |c| store::delete(c, &id)).await? {
            break;
        }
        sleep(BATCH_PAUSE).await;
    }
    let id = webhook.to_owned();
    db.write(move |c| webhook::store::remove_deleted(c, &id)).await
}
