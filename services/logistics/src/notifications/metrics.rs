//! Metrics of notifications. Each series exists from the start with the value 0: `rate` misses the first increment of a
//! series that appears with it.

use std::time::{Duration, Instant};

use database::Database;
use metrics::{Counter, Histogram, counter, gauge, histogram};
use metrics::{describe_counter, describe_gauge, describe_histogram};
use strum::VariantArray;

use super::model::Event;
use super::store;

const DELIVERIES: &str = "drover_notifications_deliveries_total";
const DELIVERY_SECONDS: &str = "drover_notifications_delivery_seconds";
const PENDING: &str = "drover_notifications_pending";
const OLDEST_PENDING_SECONDS: &str = "drover_notifications_oldest_pending_seconds";
const PRUNED: &str = "drover_notifications_pruned_total";

/// Interval between two updates of the backlog gauges.
const BACKLOG_INTERVAL: Duration = Duration::from_secs(5);

/// Returns the counter of recorded delivery attempts with this event and outcome (`delivered`, `retried`, `failed`).
pub(crate) fn deliveries(event: &str, outcome: &'static str) -> Counter {
    counter!(DELIVERIES, "event" => event.to_owned(), "outcome" => outcome)
}

/// Returns the histogram of the durations of delivery attempts, in seconds.
pub(crate) fn delivery_seconds() -> Histogram {
    histogram!(DELIVERY_SECONDS)
}

/// Returns the counter of old notifications that this replica deleted.
pub(crate) fn pruned() -> Counter {
    counter!(PRUNED)
}

/// Describes all metrics and sets them to 0.
pub(crate) fn register_metrics() {
    describe_counter!(DELIVERIES, "Recorded delivery attempts by event and outcome");
    describe_histogram!(DELIVERY_SECONDS, "Duration of delivery attempts");
    describe_gauge!(PENDING, "Pending notifications of all replicas");
    describe_gauge!(OLDEST_PENDING_SECONDS, "Age of the oldest pending notification");
    describe_counter!(PRUNED, "Delivered and failed notifications deleted after the retention period");
    pruned().increment(0);
    for event in Event::VARIANTS {
        for outcome in ["delivered", "retried", "failed"] {
            deliveries(event.into_str(), outcome).increment(0);
        }
    }
    gauge!(PENDING).set(0.0);
    gauge!(OLDEST_PENDING_SECONDS).set(0.0);
}

/// Updates the backlog gauges for as long as the service runs, whichever replica delivers. While the database is
/// unavailable, the age of the oldest pending notification continues to grow.
pub(crate) async fn report_backlog(db: &Database) {
    let (pending, oldest_seconds) = (gauge!(PENDING), gauge!(OLDEST_PENDING_SECONDS));
    let mut oldest_since: Option<Instant> = None;
    loop {
        if let Ok(backlog) = db.read(store::backlog).await {
            oldest_since = backlog.oldest.and_then(|age| Instant::now().checked_sub(age));
            #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
            pending.set(backlog.pending as f64);
        }
        oldest_seconds.set(oldest_since.map_or(0.0, |since| since.elapsed().as_secs_f64()));
        tokio::time::sleep(BACKLOG_INTERVAL).await;
    }
}
