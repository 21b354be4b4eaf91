//! The counter of status changes.

use metrics::{Counter, counter, describe_counter};

use super::model::Status;

const CHANGES: &str = "drover_listings_changed_total";

/// Returns the counter of listings that changed to a status.
pub(crate) fn changed(to: Status) -> Counter {
    counter!(CHANGES, "to" => to.as_str())
}

/// Describes the counter and registers each of its label values with 0.
pub(crate) fn register_metrics() {
    describe_counter!(CHANGES, "Listings published or closed, by their new status");
    for to in [Status::Active, Status::Sold, Status::Found, Status::Cancelled] {
        changed(to).increment(0);
    }
}
