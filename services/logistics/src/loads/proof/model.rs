//! A stored proof of delivery and its rules.

use chrono::TimeDelta;
use common::Error;
use common::validation::{Code, ValidationErrors};
use common::wire::{FileReference, WeightMeasure};
use database::{Amount, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::loads::model::{Load, Status};

/// How long before the creation or the delivery date of a load its proof may have been captured.
const MAX_CAPTURE_AGE: TimeDelta = TimeDelta::days(366);

/// The values that distinguish a repeated proof from a different one, as stored in the column `proof`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Proof {
    pub weight_net: Amount,
    pub ticket_number: String,
    pub vehicle_registration: String,
    /// File ids in lower case, sorted, each once.
    pub files: Vec<String>,
}

impl Proof {
    /// Returns true if `stored`, the proof of the load, is equal to this one.
    ///
    /// # Errors
    /// 409 if the load has a different proof, or is completed without one.
    pub(crate) fn is_repeat(&self, load: &Load, stored: Option<&Self>) -> Result<bool, Error> {
        match stored {
            Some(stored) if stored == self => Ok(true),
            Some(_) => {
                Err(Error::conflict("The delivery of this load was already proven with other values."))
            }
            None if load.status == Status::Completed => Err(Error::conflict("This load is completed.")),
            None => Ok(false),
        }
    }

    /// Completes the load with the values of this proof, and adds the files that the load does not have.
    pub(crate) fn complete(&self, load: &mut Load, files: &[FileReference], at: Timestamp) {
        load.status = Status::Completed;
        load.completed_at = Some(at);
        load.weight_net = Some(WeightMeasure::tonnes(self.weight_net));
        load.ticket_number = Some(self.ticket_number.clone());
        load.vehicle_registration = Some(self.vehicle_registration.clone());
        for file in files {
            if load.files.iter().all(|known| known.id != file.id) {
                load.files.push(file.clone());
            }
        }
    }
}

/// Validates how old a proof may be. It may be older than the load, since offices also enter loads after delivery.
pub(crate) fn validate_captured_at(
    captured_at: Option<Timestamp>,
    load: &Load,
    errors: &mut ValidationErrors,
) {
    let earliest = load.created_at.min(load.delivery_date).plus(-MAX_CAPTURE_AGE);
    if captured_at.is_some_and(|at| at < earliest) {
        let message = "must not be more than 366 days before both the load's creation and its delivery date";
        errors.push_with("capturedAtUTC", Code::Range, message, json!({ "minimum": earliest.to_string() }));
    }
}
