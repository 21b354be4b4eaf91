//! A stored proof of delivery and its rules.

use chrono::TimeDelta;
use common::validation::{Code, ValidationErrors};
use common::wire::{FileReference, WeightMeasure};
use common::{Error, Reason};
use database::{Amount, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::tolerance::WeightTolerance;
use crate::loads::model::{Load, Status};

/// How long before the creation or the delivery date of a load its proof may have been captured.
const MAX_CAPTURE_AGE: TimeDelta = TimeDelta::days(366);

/// How far the net weight may be from the difference of gross and tare weight, in ten-thousandths of a tonne: 0.02 t.
const MAX_NET_DIFFERENCE: i64 = 200;

/// The values that distinguish a repeated proof from a different one, as stored in the columns `proof` and
/// `corrected_proof`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Proof {
    pub weight_net: Amount,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_gross: Option<Amount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_tare: Option<Amount>,
    pub ticket_number: String,
    pub vehicle_registration: String,
    /// File ids in lower case, sorted, each once.
    pub files: Vec<String>,
}

/// The original proof as stored in the column `proof`.
#[derive(Debug, Serialize)]
pub(crate) struct OriginalProof<'a> {
    #[serde(flatten)]
    pub proof: &'a Proof,
    #[serde(flatten)]
    pub files_before: FilesBefore,
}

/// The files that a load had before its proof, as stored in the column `proof`. Older versions did not store them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct FilesBefore {
    /// File ids in lower case.
    #[serde(default, rename = "files_before", skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

impl FilesBefore {
    /// Returns the files of a load that is not proven yet.
    pub(crate) fn of(load: &Load) -> Self {
        Self { files: load.files.iter().map(|file| file.id.to_ascii_lowercase()).collect() }
    }
}

impl Proof {
    /// Adds an error if the net weight is not the difference of gross and tare weight, where both are known.
    pub(crate) fn validate_weights(&self, errors: &mut ValidationErrors) {
        let Some((gross, tare)) = self.weight_gross.zip(self.weight_tare) else { return };
        let difference = gross.scaled() - tare.scaled();
        if (self.weight_net.scaled() - difference).abs() > MAX_NET_DIFFERENCE {
            let message = "must be weightGross minus weightTare, within 0.02 tonnes";
            let data = json!({ "weightGross": gross, "weightTare": tare });
            errors.push_with("weightNet", Code::Inconsistent, message, data);
        }
    }

    /// Completes the load with the values of this proof, and adds the files that the load does not have.
    pub(crate) fn complete(&self, load: &mut Load, files: &[FileReference], at: Timestamp) {
        load.status = Status::Completed;
        load.completed_at = Some(at);
        self.apply(load, files);
    }

    /// Replaces the values of `previous`, the present proof of the load, by those of this one. `files` are the complete
    /// references of its files. Files that the load had before its proof (`before`) stay.
    pub(crate) fn correct(
        &self,
        previous: &Self,
        load: &mut Load,
        files: &[FileReference],
        before: &[String],
    ) {
        let is_dropped = |file: &FileReference| {
            let id = file.id.to_ascii_lowercase();
            previous.files.contains(&id) && !self.files.contains(&id) && !before.contains(&id)
        };
        load.files.retain(|file| !is_dropped(file));
        self.apply(load, files);
    }

    fn apply(&self, load: &mut Load, files: &[FileReference]) {
        load.weight_net = Some(WeightMeasure::tonnes(self.weight_net));
        load.weight_gross = self.weight_gross.map(WeightMeasure::tonnes);
        load.weight_tare = self.weight_tare.map(WeightMeasure::tonnes);
        load.ticket_number = Some(self.ticket_number.clone());
        load.vehicle_registration = Some(self.vehicle_registration.clone());
        for file in files {
            if load.files.iter().all(|known| known.id != file.id) {
                load.files.push(file.clone());
            }
        }
    }
}

/// Adds an error if a proof of the load is too old. It may be older than the load, since offices also enter loads after
/// delivery.
fn validate_captured_at(captured_at: Option<Timestamp>, load: &Load, errors: &mut ValidationErrors) {
    let earliest = load.created_at.min(load.delivery_date).plus(-MAX_CAPTURE_AGE);
    if captured_at.is_some_and(|at| at < earliest) {
        let message = "must not be more than 366 days before both the load's creation and its delivery date";
        errors.push_with("capturedAtUTC", Code::Range, message, json!({ "minimum": earliest.to_string() }));
    }
}

/// Checks a proof that is no repeat against its load. `is_proven`: the load has another proof.
///
/// # Errors
/// 400 if it is too old, or if its net weight is refused. 409 if the load has another proof, is completed without one,
/// or is cancelled.
pub(crate) fn check(
    proof: &Proof,
    captured_at: Option<Timestamp>,
    load: &Load,
    is_proven: bool,
    tolerance: WeightTolerance,
) -> Result<(), Error> {
    let mut errors = ValidationErrors::default();
    validate_captured_at(captured_at, load, &mut errors);
    tolerance.check(proof.weight_net, load.weight.as_ref(), &mut errors);
    errors.check()?;
    if is_proven {
        return Err(Error::conflict(
            Reason::ProofDiffers,
            "The delivery of this load was already proven with other values.",
        ));
    }
    load.check_upcoming()
}
