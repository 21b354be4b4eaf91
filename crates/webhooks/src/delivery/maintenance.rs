//! Background work on the deliveries of webhooks that are disabled or deleted, and of organisations that hold too many.

use std::time::Duration;

use chrono::TimeDelta;
use common::{Error, FailureStreak};
use database::{Database, Id, Timestamp};
use metrics::gauge;
use tokio::time::sleep;

use super::store;
use super::store::held::{self, Held, HeldEstimates};
use crate::webhook::{self, WebhookStatus};

/// The number of webhooks that are disabled.
pub(crate) const DISABLED: &str = "drover_webhooks_disabled";
/// Mean interval between two runs.
const INTERVAL: Duration = Duration::from_secs(5);
/// Number of runs between two searches for bodies that no delivery needs.
const RUNS_PER_PRUNING: u32 = 720;
/// Deliveries whose ids are older when they are committed may be counted late: ids are times of different clocks.
const LONGEST_TRANSACTION: TimeDelta = TimeDelta::seconds(60);
/// Pause between two batches, in which others can write.
const BATCH_PAUSE: Duration = Duration::from_millis(50);

/// Makes the pending deliveries of disabled webhooks fail, deletes those of deleted ones and bodies that are not
/// needed, and limits what each organisation holds, for as long as the service runs. Several replicas may do so at
/// once.
pub(crate) async fn maintain(db: &Database, limit: Held) {
    let mut failures = FailureStreak::default();
    let (mut estimates, mut counted_until) = (HeldEstimates::default(), Id::NIL);
    let mut run = 0_u32;
    loop {
        let prunes = run.is_multiple_of(RUNS_PER_PRUNING);
        let result = maintain_once(db, limit, &mut estimates, &mut counted_until, prunes).await;
        if let Some(error) = failures.first(&result) {
            tracing::warn!(error = format!("{error:?}"), "deliveries of webhooks could not be maintained");
        }
        run = run.wrapping_add(1);
        sleep(INTERVAL.mul_f64(rand::random_range(0.8..1.2))).await;
    }
}

async fn maintain_once(
    db: &Database,
    limit: Held,
    estimates: &mut HeldEstimates,
    counted_until: &mut Id,
    prunes: bool,
) -> Result<(), Error> {
    let disabled = db.read(webhook::store::count_disabled).await?;
    #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
    gauge!(DISABLED).set(disabled as f64);
    for (id, status) in db.read(webhook::store::list_unfinished).await? {
        if status == WebhookStatus::DELETED {
            delete(db, &id).await?;
        } else {
            fail(db, &id).await?;
        }
    }
    let (after, now) = (*counted_until, Timestamp::now());
    let grown = db.read(move |c| held::grown(c, after)).await?;
    *counted_until = store::first_id_at(now.plus(-LONGEST_TRANSACTION));
    for organisation in estimates.add(grown, limit) {
        let held = trim(db, &organisation, limit).await?;
        estimates.set(organisation, held);
    }
    if prunes {
        prune_messages(db).await?;
    }
    Ok(())
}

/// Makes the pending deliveries of a webhook fail.
async fn fail(db: &Database, webhook: &str) -> Result<(), Error> {
    loop {
        let id = webhook.to_owned();
        if !db.write(move |c| store::fail_pending(c, &id)).await? {
            return Ok(());
        }
        sleep(BATCH_PAUSE).await;
    }
}

/// Brings what an organisation holds below the limit. Returns what it holds.
async fn trim(db: &Database, organisation: &str, limit: Held) -> Result<Held, Error> {
    let mut was_warned = false;
    loop {
        let id = organisation.to_owned();
        let held = db.read(move |c| held::count(c, &id)).await?;
        let (id, excess) = (organisation.to_owned(), held.beyond(limit));
        if excess.is_empty() {
            return Ok(held);
        }
        db.write(move |c| held::trim(c, &id, excess)).await?;
        if !was_warned {
            was_warned = true;
            tracing::info!(
                organisation,
                ?held,
                "an organisation holds too many deliveries: its oldest ones go"
            );
        }
        sleep(BATCH_PAUSE).await;
    }
}

/// Deletes the bodies that no delivery needs any more.
async fn prune_messages(db: &Database) -> Result<(), Error> {
    let mut after = Id::NIL;
    while let Some(last) = db.write(move |c| store::prune_messages(c, after)).await? {
        after = last;
        sleep(BATCH_PAUSE).await;
    }
    Ok(())
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
