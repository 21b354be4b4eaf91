//! What is counted of listings, each there with 0 before the first.

use metrics::{Counter, counter, describe_counter};

use crate::listings::Status;
use crate::reports::Reason;

/// Reports by their reason.
pub(crate) fn reports(reason: Reason) -> Counter {
    counter!("drover_listing_reports_total", "reason" => reason.as_str())
}

/// Listings by what they became.
pub(crate) fn changed(to: Status) -> Counter {
    counter!("drover_listings_changed_total", "to" => to.as_str())
}

/// Says what each of them is, and shows it.
pub(crate) fn register_metrics() {
    describe_counter!("drover_listing_reports_total", "Reports of listings, by reason");
    describe_counter!("drover_listings_changed_total", "Listings published and closed, by what they became");
    for reason in [Reason::Misleading, Reason::Suspicious, Reason::Other] {
        reports(reason).increment(0);
    }
    for to in [Status::Active, Status::Sold, Status::Found, Status::Cancelled] {
        changed(to).increment(0);
    }
}
