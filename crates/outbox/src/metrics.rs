//! Metrics of an outbox. Each series exists from the start with the value 0: `rate` misses the first increment of a
//! series that appears with it.

use std::time::{Duration, Instant};

use database::Database;
use metrics::{Counter, Histogram, counter, gauge, histogram};
use metrics::{describe_counter, describe_gauge, describe_histogram};

use super::model::{Outbox, Outcome};
use super::store;

/// Interval between two updates of the backlog gauges.
const BACKLOG_INTERVAL: Duration = Duration::from_secs(5);

/// The names of the metrics of an outbox.
#[derive(Clone, Copy, Debug)]
pub struct OutboxMetrics {
    /// Counter of recorded delivery attempts by `event` and `outcome` (`delivered`, `retried`, `failed`).
    pub deliveries: &'static str,
    /// Histogram of the durations of delivery attempts, in seconds.
    pub delivery_seconds: &'static str,
    /// Gauge of pending messages.
    pub pending: &'static str,
    /// Gauge of the age of the oldest pending message, in seconds.
    pub oldest_pending_seconds: &'static str,
    /// Counter of old messages that this replica deleted.
    pub pruned: &'static str,
}

impl OutboxMetrics {
    /// Describes all metrics and sets them to 0.
    pub fn register(&self, outbox: &Outbox, events: impl IntoIterator<Item = &'static str>) {
        let things = outbox.plural;
        describe_counter!(self.deliveries, "Recorded delivery attempts by event and outcome");
        describe_histogram!(self.delivery_seconds, "Duration of delivery attempts");
        describe_gauge!(self.pending, format!("Pending {things} of all replicas"));
        describe_gauge!(self.oldest_pending_seconds, format!("Age of the oldest of the pending {things}"));
        describe_counter!(
            self.pruned,
            format!("Delivered and failed {things} deleted after the retention period")
        );
        self.pruned().increment(0);
        for event in events {
            for outcome in ["delivered", "retried", "failed"] {
                counter!(self.deliveries, "event" => event, "outcome" => outcome).increment(0);
            }
        }
        gauge!(self.pending).set(0.0);
        gauge!(self.oldest_pending_seconds).set(0.0);
    }

    /// Counts a recorded outcome.
    pub(super) fn count(&self, event: &str, outcome: &Outcome) {
        let outcome = match outcome {
            Outcome::Delivered => "delivered",
            Outcome::Retry { .. } => "retried",
            Outcome::Failed(_) => "failed",
        };
        counter!(self.deliveries, "event" => event.to_owned(), "outcome" => outcome).increment(1);
    }

    pub(super) fn delivery_seconds(&self) -> Histogram {
        histogram!(self.delivery_seconds)
    }

    pub(super) fn pruned(&self) -> Counter {
        counter!(self.pruned)
    }

    /// Updates the backlog gauges for as long as the service runs, whichever replica delivers. While the database is
    /// unavailable, the age of the oldest pending message continues to grow.
    pub(super) async fn report_backlog(&self, db: &Database, outbox: &'static Outbox) {
        let (pending, oldest_seconds) = (gauge!(self.pending), gauge!(self.oldest_pending_seconds));
        let mut oldest_since: Option<Instant> = None;
        loop {
            if let Ok(backlog) = db.read(move |c| store::backlog(c, outbox)).await {
                oldest_since = backlog.oldest.and_then(|age| Instant::now().checked_sub(age));
                #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
                pending.set(backlog.pending as f64);
            }
            oldest_seconds.set(oldest_since.map_or(0.0, |since| since.elapsed().as_secs_f64()));
            tokio::time::sleep(BACKLOG_INTERVAL).await;
        }
    }
}
