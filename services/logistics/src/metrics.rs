//! What is counted of notifications, each there with 0 before the first.

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use metrics::{describe_counter, describe_gauge, describe_histogram};

use crate::notifications::Event;

/// Tries to deliver, by how they went: `delivered`, `retried`, `failed`.
pub(crate) fn deliveries(event: &str, outcome: &'static str) -> Counter {
    counter!("drover_notifications_deliveries_total", "event" => event.to_owned(), "outcome" => outcome)
}

/// How long they took.
pub(crate) fn delivery_seconds() -> Histogram {
    histogram!("drover_notifications_delivery_seconds")
}

/// Notifications not delivered yet, of all replicas.
pub(crate) fn pending() -> Gauge {
    gauge!("drover_notifications_pending")
}

/// How long the oldest of them has been pending.
pub(crate) fn oldest_pending() -> Gauge {
    gauge!("drover_notifications_oldest_pending_seconds")
}

/// Old notifications that this replica deleted.
pub(crate) fn pruned() -> Counter {
    counter!("drover_notifications_pruned_total")
}

/// Says what each of them is, and shows it.
pub(crate) fn register_metrics() {
    describe_counter!("drover_notifications_deliveries_total", "Tries to deliver, by event and outcome");
    describe_histogram!("drover_notifications_delivery_seconds", "How long tries to deliver took");
    describe_gauge!("drover_notifications_pending", "Notifications of all replicas not delivered yet");
    describe_gauge!("drover_notifications_oldest_pending_seconds", "How long the oldest has been pending");
    describe_counter!(
        "drover_notifications_pruned_total",
        "Delivered and failed notifications deleted for their age"
    );
    pruned().increment(0);
    for event in Event::ALL {
        for outcome in ["delivered", "retried", "failed"] {
            deliveries(event.as_str(), outcome).increment(0);
        }
    }
    pending().set(0.0);
    oldest_pending().set(0.0);
}
