//! Proof of delivery (docs/api/loads.md, "Proof of delivery"): the weighbridge ticket that completes a load, its
//! corrections, and how far its weight may be from the agreed one.

use chrono::TimeDelta;
use common::Error;
use common::validation::{Code, ValidationErrors};
use common::wire::{
    DateOrDateTime, FileReference, QueryText, Reason, Reference, Registration, Warning, WeightMeasure,
};
use database::{Amount, Id, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::loads::form::reword_tonnes;
use crate::loads::model::{Load, Status};
use crate::{Settings, ToleranceAction, examples};

/// Message for a `loadId` that names no load.
pub(crate) const UNKNOWN_LOAD: &str = "is not a known load";

/// How far in the future `capturedAtUTC` may be, since clocks differ.
const MAX_CLOCK_SKEW: TimeDelta = TimeDelta::minutes(5);

/// The fields of a proof of delivery.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Delivery {
    /// In tonnes.
    #[schema(required = true, minimum = 0, maximum = 1000)]
    weight_net: f64,
    /// The weight of the loaded vehicle in tonnes.
    #[schema(minimum = 0, maximum = 1000)]
    weight_gross: Option<f64>,
    /// The weight of the empty vehicle in tonnes.
    #[schema(minimum = 0, maximum = 1000)]
    weight_tare: Option<f64>,
    #[schema(required = true)]
    ticket_number: Reference,
    #[schema(required = true)]
    vehicle_registration: Registration,
    #[schema(required = true, max_items = 50)]
    files: Option<Vec<FileReference>>,
    /// When the ticket was signed, for a driver who was offline; by default the present time. At most 366 days before
    /// the creation or the delivery date of the load, whichever is earlier.
    #[serde(rename = "capturedAtUTC")]
    captured_at: Option<DateOrDateTime>,
}

/// A proof of delivery of the load in the path.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({
    "weightNet": 28.9, "weightGross": 43.7, "weightTare": 14.8, "ticketNumber": "48213",
    "vehicleRegistration": "VX21 ABC", "files": null,
}))]
pub(crate) struct ProofOfDelivery {
    /// The load in the path. Optional.
    #[serde(default, rename = "loadId")]
    load_id: Option<QueryText>,
    /// The fields of the proof.
    #[serde(flatten)]
    pub delivery: Delivery,
}

/// A proof of delivery that names its load.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({
    "loadId": examples::LOAD_TO_PROVE, "weightNet": 28.9, "weightGross": 43.7, "weightTare": 14.8, "ticketNumber": "48213",
    "vehicleRegistration": "VX21 ABC", "files": null,
}))]
pub(crate) struct ProofOfDeliveryOfLoad {
    /// The id of the load.
    #[serde(default, rename = "loadId")]
    #[schema(required = true, min_length = 1, extensions(("x-text" = json!("line"))))]
    load_id: String,
    /// The fields of the proof.
    #[serde(flatten)]
    pub delivery: Delivery,
}

impl ProofOfDelivery {
    /// Validates the rules that the schema cannot state. `path_id` is the load in the path, if it is an id.
    pub(crate) fn validate(&self, path_id: Option<Id>, errors: &mut ValidationErrors) {
        self.delivery.validate(errors);
        if self.load_id.as_deref().is_some_and(|id| Id::parse(id) != path_id) {
            errors.push("loadId", Code::Inconsistent, "must match the load in the path, or be omitted");
        }
    }
}

impl ProofOfDeliveryOfLoad {
    /// Validates the rules that the schema cannot state.
    pub(crate) fn validate(&self, errors: &mut ValidationErrors) {
        self.delivery.validate(errors);
        if self.load_id().is_none() {
            errors.push("loadId", Code::UnknownReference, UNKNOWN_LOAD);
        }
    }

    /// Returns the id of the load.
    pub(crate) fn load_id(&self) -> Option<Id> {
        Id::parse(&self.load_id)
    }
}

impl Delivery {
    fn validate(&self, errors: &mut ValidationErrors) {
        for member in ["weightNet", "weightGross", "weightTare"] {
            reword_tonnes(member, errors);
        }
        let is_valid = !["weightNet", "weightGross", "weightTare"].iter().any(|member| errors.failed(member));
        if let Some(proof) = self.proof().ok().filter(|_| is_valid) {
            proof.validate_weights(errors);
        }
        let latest = Timestamp::now().plus(MAX_CLOCK_SKEW);
        if self.captured_at().is_some_and(|at| at > latest) {
            errors.push("capturedAtUTC", Code::Range, "must not be in the future");
        }
    }

    /// Returns when the ticket was signed.
    pub(crate) fn captured_at(&self) -> Option<Timestamp> {
        self.captured_at.as_ref().and_then(DateOrDateTime::start)
    }

    /// Returns the files to add to the load.
    pub(crate) fn files(&self) -> &[FileReference] {
        self.files.as_deref().unwrap_or_default()
    }

    /// Returns the values that distinguish this proof from others.
    ///
    /// # Errors
    /// 500 if the weight was not validated.
    pub(crate) fn proof(&self) -> Result<Proof, Error> {
        let files = normalize_ids(self.files());
        Ok(Proof {
            weight_net: amount(self.weight_net)?,
            weight_gross: self.weight_gross.map(amount).transpose()?,
            weight_tare: self.weight_tare.map(amount).transpose()?,
            ticket_number: self.ticket_number.0.clone(),
            vehicle_registration: self.vehicle_registration.0.clone(),
            files,
        })
    }
}

/// Converts a validated weight.
fn amount(tonnes: f64) -> Result<Amount, Error> {
    Amount::from_f64(tonnes).map_err(|e| Error::Internal(e.into()))
}

/// Returns the ids of files in lower case, sorted, each once.
fn normalize_ids(files: &[FileReference]) -> Vec<String> {
    let mut ids: Vec<_> = files.iter().map(|file| file.id.to_ascii_lowercase()).collect();
    ids.sort();
    ids.dedup();
    ids
}

/// Values of a proof of delivery to replace, at least one. Absent ones stay as they are.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(as = ProofCorrection, example = json!({ "weightNet": 28.9, "reason": "The ticket was misread" }))]
pub(crate) struct Correction {
    /// In tonnes.
    #[schema(minimum = 0, maximum = 1000)]
    weight_net: Option<f64>,
    /// The weight of the loaded vehicle in tonnes.
    #[schema(minimum = 0, maximum = 1000)]
    weight_gross: Option<f64>,
    /// The weight of the empty vehicle in tonnes.
    #[schema(minimum = 0, maximum = 1000)]
    weight_tare: Option<f64>,
    ticket_number: Option<Reference>,
    vehicle_registration: Option<Registration>,
    /// Replaces the files of the proof. Other files of the load stay.
    #[schema(max_items = 50)]
    files: Option<Vec<FileReference>>,
    /// Stands in the history of the load.
    #[schema(required = true)]
    pub reason: Reason,
}

impl Correction {
    /// Validates the rules that the schema cannot state.
    pub(crate) fn validate(&self, errors: &mut ValidationErrors) {
        let weights = ["weightNet", "weightGross", "weightTare"];
        for member in weights {
            reword_tonnes(member, errors);
        }
        let others = ["ticketNumber", "vehicleRegistration", "files"];
        let names_a_value = self.weight_net.or(self.weight_gross).or(self.weight_tare).is_some()
            || self.ticket_number.is_some()
            || self.vehicle_registration.is_some()
            || self.files.is_some();
        let has_invalid = errors.iter().any(|e| weights.iter().chain(&others).any(|m| e.path.starts_with(m)));
        if !names_a_value && !has_invalid {
            errors.push(
                "weightNet",
                Code::Required,
                "is required, or another value to correct: weightGross, weightTare, ticketNumber, vehicleRegistration, files",
            );
        }
        if let (Some(_), Some(_), Some(_)) = (self.weight_net, self.weight_gross, self.weight_tare)
            && !weights.iter().any(|member| errors.failed(member))
        {
            let none = Proof::default();
            if let Ok(proof) = self.apply(&none) {
                proof.validate_weights(errors);
            }
        }
    }

    /// Returns the files of the corrected proof, if the correction names any.
    pub(crate) fn files(&self) -> &[FileReference] {
        self.files.as_deref().unwrap_or_default()
    }

    /// Returns true if the correction names the net weight.
    pub(crate) fn names_net_weight(&self) -> bool {
        self.weight_net.is_some()
    }

    /// Replaces the values of a proof.
    ///
    /// # Errors
    /// 500 if the weights were not validated.
    fn apply(&self, proof: &Proof) -> Result<Proof, Error> {
        let mut corrected = proof.clone();
        if let Some(tonnes) = self.weight_net {
            corrected.weight_net = amount(tonnes)?;
        }
        if let Some(tonnes) = self.weight_gross {
            corrected.weight_gross = Some(amount(tonnes)?);
        }
        if let Some(tonnes) = self.weight_tare {
            corrected.weight_tare = Some(amount(tonnes)?);
        }
        if let Some(ticket) = &self.ticket_number {
            corrected.ticket_number.clone_from(&ticket.0);
        }
        if let Some(registration) = &self.vehicle_registration {
            corrected.vehicle_registration.clone_from(&registration.0);
        }
        if let Some(files) = &self.files {
            corrected.files = normalize_ids(files);
        }
        Ok(corrected)
    }

    /// Returns the corrected proof of a load.
    ///
    /// # Errors
    /// 400 if its weights are inconsistent or refused.
    pub(crate) fn correct(
        &self,
        previous: &Proof,
        load: &Load,
        tolerance: WeightTolerance,
    ) -> Result<Proof, Error> {
        let proof = self.apply(previous)?;
        let mut errors = ValidationErrors::default();
        proof.validate_weights(&mut errors);
        if proof.weight_net != previous.weight_net {
            tolerance.check(proof.weight_net, load.weight.as_ref(), &mut errors);
        }
        errors.check()?;
        Ok(proof)
    }
}

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
            common::Reason::ProofDiffers,
            "The delivery of this load was already proven with other values.",
        ));
    }
    load.check_upcoming()
}

/// The tolerance of net weights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WeightTolerance {
    /// In per cent of the agreed weight.
    pub percent: u32,
    pub action: ToleranceAction,
}

impl WeightTolerance {
    /// Returns the tolerance of the settings.
    pub(crate) fn of(settings: &Settings) -> Self {
        Self { percent: settings.weight_tolerance_percent, action: settings.weight_tolerance }
    }

    /// Returns the warning for a net weight outside the tolerance. `agreed` is the weight of the load, if it has one.
    pub(crate) fn warning(self, net: Amount, agreed: Option<&WeightMeasure>) -> Option<Warning> {
        let agreed = agreed?.weight;
        let difference = i128::from((net.scaled() - agreed.scaled()).abs());
        if difference * 100 <= i128::from(agreed.scaled()) * i128::from(self.percent) {
            return None;
        }
        let message = format!(
            "differs from the agreed weight of {} t by more than {} %: {} t",
            agreed, self.percent, net
        );
        let data = json!({ "weight": agreed, "weightNet": net, "tolerancePercent": self.percent });
        let data = if let Value::Object(data) = data { data } else { serde_json::Map::new() };
        Some(Warning { path: "weightNet".into(), code: "weight_differs".into(), message, data })
    }

    /// Adds the warning to the errors if the setting refuses such weights. Otherwise returns it.
    pub(crate) fn check(
        self,
        net: Amount,
        agreed: Option<&WeightMeasure>,
        errors: &mut ValidationErrors,
    ) -> Option<Warning> {
        let warning = self.warning(net, agreed)?;
        if self.action == ToleranceAction::Warn {
            return Some(warning);
        }
        errors.push_with(warning.path, Code::Inconsistent, warning.message, warning.data.into());
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_exactly() {
        let differs = |net: f64, agreed: Option<f64>, percent| {
            let tonnes = |number| Amount::from_f64(number).unwrap();
            let tolerance = WeightTolerance { percent, action: ToleranceAction::Warn };
            tolerance
                .warning(tonnes(net), agreed.map(|agreed| WeightMeasure::tonnes(tonnes(agreed))).as_ref())
                .is_some()
        };
        assert!(!differs(33.0, Some(30.0), 10));
        assert!(!differs(27.0, Some(30.0), 10));
        assert!(differs(33.0001, Some(30.0), 10));
        assert!(differs(26.9999, Some(30.0), 10));
        assert!(!differs(5.0, None, 10));
        assert!(differs(0.0001, Some(0.0), 10));
        assert!(!differs(0.0, Some(0.0), 0));
        assert!(differs(30.0001, Some(30.0), 0));
    }
}
