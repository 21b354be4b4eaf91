//! Background work on the deliveries of webhooks that are disabled or deleted, and of organisations that hold too many.

use std::collections::VecDeque;
use std::time::Duration;

use chrono::TimeDelta;
use common::{Error, FailureStreak};
use database::{AnyConnection, Database, Id, Timestamp};
use metrics::gauge;
use tokio::time::{Instant, sleep, sleep_until};

use super::store;
use super::store::held::{self, FailingCause, Held, HeldEstimates};
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
    let mut maintenance = Maintenance::new(db, limit);
    let mut run = 0_u32;
    loop {
        let next_run = Instant::now() + INTERVAL.mul_f64(rand::random_range(0.8..1.2));
        let result = maintenance.run(next_run, run.is_multiple_of(RUNS_PER_PRUNING)).await;
        if let Some(error) = failures.first(&result) {
            tracing::warn!(error = format!("{error:?}"), "deliveries of webhooks could not be maintained");
        }
        run = run.wrapping_add(1);
        sleep_until(next_run).await;
    }
}

/// Work that takes any number of transactions.
#[derive(Clone, Debug, PartialEq)]
enum Task {
    /// Makes the pending deliveries of a disabled webhook fail.
    Fail(String),
    /// Deletes the deliveries of a deleted webhook, then the webhook.
    Delete(String),
    /// Counts what an organisation holds.
    Count(String),
    /// Brings what an organisation holds below the limit.
    Trim { organisation: String, excess: Held, failing: Option<FailingCause> },
    /// Deletes the bodies that no delivery needs any more, after this one.
    Prune(Id),
    /// Measures the bodies that replicas of 1.1 stored with their deliveries, after this one.
    Measure(Id),
}

impl Task {
    /// Returns true if both are of the same kind, for the same webhook or organisation. An organisation is not counted
    /// while it is trimmed.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Count(organisation), Self::Trim { organisation: trimmed, .. }) => organisation == trimmed,
            (Self::Prune(_), Self::Prune(_)) => true,
            _ => self == other,
        }
    }
}

struct Maintenance<'a> {
    db: &'a Database,
    limit: Held,
    estimates: HeldEstimates,
    counted_until: Id,
    /// They take turns, so that no webhook or organisation delays the others.
    tasks: VecDeque<Task>,
}

impl<'a> Maintenance<'a> {
    fn new(db: &'a Database, limit: Held) -> Self {
        let (estimates, tasks) = (HeldEstimates::default(), VecDeque::from([Task::Measure(Id::NIL)]));
        Self { db, limit, estimates, counted_until: Id::NIL, tasks }
    }

    /// Looks for work, and does some of it until the next run.
    async fn run(&mut self, next_run: Instant, prunes: bool) -> Result<(), Error> {
        let disabled = self.db.read(webhook::store::count_disabled).await?;
        #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
        gauge!(DISABLED).set(disabled as f64);
        for (id, status) in self.db.read(webhook::store::list_unfinished).await? {
            let is_deleted = status == WebhookStatus::DELETED;
            self.add(if is_deleted { Task::Delete(id) } else { Task::Fail(id) });
        }
        let (after, now) = (self.counted_until, Timestamp::now());
        let grown = self.db.read(move |c| held::grown(c, after)).await?;
        self.counted_until = store::first_id_at(now.plus(-LONGEST_TRANSACTION));
        for organisation in self.estimates.add(grown, self.limit) {
            self.add(Task::Count(organisation));
        }
        if prunes {
            self.add(Task::Prune(Id::NIL));
        }
        while let Some(task) = self.tasks.pop_front() {
            match self.step(task.clone()).await {
                Ok(next) => self.tasks.extend(next),
                Err(error) => {
                    self.tasks.push_back(task);
                    return Err(error);
                }
            }
            if Instant::now() >= next_run {
                break;
            }
            sleep(BATCH_PAUSE).await;
        }
        Ok(())
    }

    fn add(&mut self, task: Task) {
        if !self.tasks.iter().any(|other| task.is_like(other)) {
            self.tasks.push_back(task);
        }
    }

    /// Does a part of a task, in at most one transaction. Returns the rest.
    async fn step(&mut self, task: Task) -> Result<Option<Task>, Error> {
        Ok(match task {
            Task::Fail(webhook) => {
                let id = webhook.clone();
                let is_more = self.db.write(move |c| store::fail_pending(c, &id)).await?;
                is_more.then_some(Task::Fail(webhook))
            }
            Task::Delete(webhook) => {
                let id = webhook.clone();
                if self.db.write(move |c| store::delete(c, &id)).await? {
                    return Ok(Some(Task::Delete(webhook)));
                }
                self.db.write(move |c| webhook::store::remove_deleted(c, &webhook)).await?;
                None
            }
            Task::Prune(after) => {
                self.db.write(move |c| store::prune_messages(c, after)).await?.map(Task::Prune)
            }
            Task::Measure(after) => {
                let (bodies, last) = self.db.read(move |c| held::unmeasured(c, after)).await?;
                if !bodies.is_empty() {
                    self.db.write(move |c| held::set_sizes(c, &bodies)).await?;
                }
                last.map(Task::Measure)
            }
            Task::Count(organisation) => {
                let id = organisation.clone();
                let held = self.db.read(move |c| held::count(c, &id)).await?;
                self.estimates.set(organisation.clone(), held);
                let excess = held.minus(self.limit);
                if excess.is_empty() {
                    return Ok(None);
                }
                tracing::info!(
                    organisation,
                    ?held,
                    "an organisation holds too many deliveries: its oldest ones go"
                );
                Some(Task::Trim { organisation, excess, failing: None })
            }
            Task::Trim { organisation, excess, failing } => {
                let id = organisation.clone();
                let choose = move |c: &mut AnyConnection| {
                    let mut failing = failing.clone();
                    let chosen = held::choose(c, &id, excess, &mut failing)?;
                    Ok::<_, Error>((chosen, failing))
                };
                let (chosen, failing) = self.db.read(choose).await?;
                if chosen.is_empty() {
                    return Ok(None);
                }
                let id = organisation.clone();
                let deleted = self.db.write(move |c| held::trim(c, &id, &chosen)).await?;
                self.estimates.subtract(&organisation, deleted);
                let excess = excess.minus(deleted);
                (!excess.is_empty()).then_some(Task::Trim { organisation, excess, failing })
            }
        })
    }
}
