//! The counter of reports.

use metrics::{Counter, counter, describe_counter};
use strum::VariantArray;

use super::model::ReportReason;

const REPORTS: &str = "drover_listing_reports_total";

/// Returns the counter of reports with a reason.
pub(crate) fn reports(reason: ReportReason) -> Counter {
    counter!(REPORTS, "reason" => reason.as_str())
}

/// Describes the counter and registers each of its label values with 0.
pub(crate) fn register_metrics() {
    describe_counter!(REPORTS, "Reports of listings, by reason");
    for reason in ReportReason::VARIANTS {
        reports(*reason).increment(0);
    }
}
