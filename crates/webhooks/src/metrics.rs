//! Metrics of the webhooks of organisations.

use metrics::{describe_gauge, gauge};
use outbox::Channel;

use crate::delivery::{DISABLED, Receivers};
use crate::event::TEST_EVENT;

/// Describes the metrics of webhooks and sets them to 0. `events` are those that webhooks can subscribe to.
pub fn register_metrics(events: &[&'static str]) {
    Receivers::METRICS.register(&Receivers::OUTBOX, events.iter().copied().chain([TEST_EVENT]));
    describe_gauge!(DISABLED, "Webhooks that are disabled");
    gauge!(DISABLED).set(0.0);
}
