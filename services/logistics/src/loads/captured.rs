//! What somebody captured at a collection, a delivery or a rejection: when, and with which files.

use chrono::TimeDelta;
use common::validation::{Code, ValidationErrors};
use common::wire::FileReference;
use database::Timestamp;
use serde_json::json;

/// How far in the future `capturedAtUTC` may be, since clocks differ.
const MAX_CLOCK_SKEW: TimeDelta = TimeDelta::minutes(5);

/// How long before the creation or the delivery date of a load its proof may have been captured.
const MAX_CAPTURE_AGE: TimeDelta = TimeDelta::days(366);

/// Adds an error if something was captured in the future.
pub(super) fn validate_not_in_future(captured_at: Option<Timestamp>, errors: &mut ValidationErrors) {
    let latest = Timestamp::now().plus(MAX_CLOCK_SKEW);
    if captured_at.is_some_and(|at| at > latest) {
        errors.push("capturedAtUTC", Code::Range, "must not be in the future");
    }
}

/// Adds an error if something about the load was captured too long ago. It may have been before the load was created,
/// since offices also enter loads after delivery.
/// `created_at` and `delivery_date` are those of the load.
pub(super) fn validate_captured_at(
    captured_at: Option<Timestamp>,
    (created_at, delivery_date): (Timestamp, Timestamp),
    errors: &mut ValidationErrors,
) {
    let earliest = created_at.min(delivery_date).plus(-MAX_CAPTURE_AGE);
    if captured_at.is_some_and(|at| at < earliest) {
        let message = "must not be more than 366 days before both the load's creation and its delivery date";
        errors.push_with("capturedAtUTC", Code::Range, message, json!({ "minimum": earliest.to_string() }));
    }
}

/// Returns the ids of files in lower case, sorted, each once.
pub(super) fn normalize_ids(files: &[FileReference]) -> Vec<String> {
    let mut ids: Vec<_> = files.iter().map(|file| file.id.to_ascii_lowercase()).collect();
    ids.sort();
    ids.dedup();
    ids
}
