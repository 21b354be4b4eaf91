//! Reports: complaints of users about listings. The owner of a listing does not see them. Moderators read them, and see
//! their number in the log and the metrics.

mod handlers;
mod model;
mod store;

use metrics::{Counter, counter, describe_counter};
use strum::VariantArray;

pub(crate) use handlers::routes;
pub(crate) use model::Report;
use model::ReportReason;
pub(crate) use store::create_demo_report;

const REPORTS: &str = "drover_listing_reports_total";

/// Returns the counter of reports with a reason.
fn reports_with(reason: ReportReason) -> Counter {
    counter!(REPORTS, "reason" => reason.as_str())
}

/// Describes the counter and registers each of its label values with 0.
pub(crate) fn register_metrics() {
    describe_counter!(REPORTS, "Reports of listings, by reason");
    for reason in ReportReason::VARIANTS {
        reports_with(*reason).increment(0);
    }
}
