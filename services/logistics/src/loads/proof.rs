//! Proof of delivery (docs/api/loads.md, "Proof of delivery"): the weighbridge ticket that completes a load, and its
//! corrections.

use common::Error;
use common::validation::{Code, ValidationErrors};
use common::wire::{
    DateOrDateTime, FileReference, QueryText, Reason, Reference, Registration, Warning, WeightMeasure,
};
use database::{Amount, Id, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::captured::{normalize_ids, validate_captured_at, validate_not_in_future};
use super::model::Load;
use super::quality::{self, Quality};
use super::status::{Action, Status};
use super::weights::{WeightTolerance, Weights, amount, reword_weights};
use crate::examples;

/// Message for a `loadId` that names no load.
pub(crate) const UNKNOWN_LOAD: &str = "is not a known load";

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
    #[schema(max_items = 20)]
    quality: Option<Vec<Quality>>,
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
        quality::validate(self.quality.as_deref().unwrap_or_default(), errors);
        validate_not_in_future(self.captured_at(), errors);
        if reword_weights(errors)
            && let Ok(proof) = self.proof()
        {
            proof.weights().validate(errors);
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
            quality: self.quality.clone().unwrap_or_default(),
        })
    }
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
    /// Replaces all values of the proof.
    #[schema(max_items = 20)]
    quality: Option<Vec<Quality>>,
    /// Stands in the history of the load.
    #[schema(required = true)]
    pub reason: Reason,
}

impl Correction {
    /// Validates the rules that the schema cannot state.
    pub(crate) fn validate(&self, errors: &mut ValidationErrors) {
        quality::validate(self.quality.as_deref().unwrap_or_default(), errors);
        let has_valid_weights = reword_weights(errors);
        let members = [
            "weightNet",
            "weightGross",
            "weightTare",
            "ticketNumber",
            "vehicleRegistration",
            "files",
            "quality",
        ];
        let names_a_value = self.weight_net.or(self.weight_gross).or(self.weight_tare).is_some()
            || self.ticket_number.is_some()
            || self.vehicle_registration.is_some()
            || self.files.is_some()
            || self.quality.is_some();
        let has_invalid = errors.iter().any(|e| members.iter().any(|member| e.path.starts_with(member)));
        if !names_a_value && !has_invalid {
            errors.push(
                "weightNet",
                Code::Required,
                "is required, or another value to correct: weightGross, weightTare, ticketNumber, \
                 vehicleRegistration, files, quality",
            );
        }
        if let (Some(_), Some(_), Some(_), true) =
            (self.weight_net, self.weight_gross, self.weight_tare, has_valid_weights)
            && let Ok(proof) = self.apply(&Proof::default())
        {
            proof.weights().validate(errors);
        }
    }

    /// Returns the files of the corrected proof, if the correction names any.
    pub(crate) fn files(&self) -> &[FileReference] {
        self.files.as_deref().unwrap_or_default()
    }

    /// Returns what looks wrong about the values that the correction names.
    pub(crate) fn warnings(&self, proof: &Proof, load: &Load, tolerance: WeightTolerance) -> Vec<Warning> {
        let mut warnings = proof.warnings(load, tolerance);
        warnings.retain(|warning| match &*warning.path {
            "weightGross" => self.weight_gross.is_some(),
            _ => self.weight_net.is_some(),
        });
        warnings
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
        if let Some(quality) = &self.quality {
            corrected.quality.clone_from(quality);
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
        proof.weights().validate(&mut errors);
        if proof.weight_net != previous.weight_net {
            tolerance.check(proof.weight_net, load.compared_weight(), &mut errors);
        }
        errors.check()?;
        Ok(proof)
    }
}

/// The values that distinguish a repeated proof from a different one, as stored in the columns `proof` and
/// `corrected_proof`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quality: Vec<Quality>,
}

impl PartialEq for Proof {
    fn eq(&self, other: &Self) -> bool {
        // Without `..`: a new value has to be compared.
        let Self {
            weight_net,
            weight_gross,
            weight_tare,
            ticket_number,
            vehicle_registration,
            files,
            quality,
        } = self;
        *weight_net == other.weight_net
            && *weight_gross == other.weight_gross
            && *weight_tare == other.weight_tare
            && *ticket_number == other.ticket_number
            && *vehicle_registration == other.vehicle_registration
            && *files == other.files
            && quality::is_same(quality, &other.quality)
    }
}

/// The original proof as stored in the column `proof`.
#[derive(Debug, Serialize)]
pub(crate) struct OriginalProof<'a> {
    #[serde(flatten)]
    pub proof: &'a Proof,
    #[serde(flatten)]
    pub before: BeforeProof,
}

/// What a load had before its proof, as stored in the column `proof`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct BeforeProof {
    /// File ids in lower case. Empty if an older version stored the proof.
    #[serde(default, rename = "files_before", skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// `None` if a version before 1.2 stored the proof.
    #[serde(default, rename = "values_before", skip_serializing_if = "Option::is_none")]
    pub values: Option<ProvenValues>,
}

/// The values of a load that its proof replaces.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ProvenValues {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weight_net: Option<WeightMeasure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ticket_number: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vehicle_registration: Option<String>,
}

impl BeforeProof {
    /// Returns what a load has that is not proven yet.
    pub(crate) fn of(load: &Load) -> Self {
        Self {
            files: load.files.iter().map(|file| file.id.to_ascii_lowercase()).collect(),
            values: Some(ProvenValues {
                weight_net: load.weight_net.clone(),
                ticket_number: load.ticket_number.clone(),
                vehicle_registration: load.vehicle_registration.clone(),
            }),
        }
    }
}

impl ProvenValues {
    /// Returns the values that a load had according to the event of its completion, which records those that the proof
    /// changed.
    ///
    /// # Errors
    /// 500 if the history is malformed.
    pub(crate) fn before(proof: &Proof, changes: &Value) -> Result<Self, Error> {
        let text = |name: &str, proven: &str| match changes.get(name) {
            Some(change) => change["from"].as_str().map(str::to_owned),
            None => Some(proven.to_owned()),
        };
        let weight_net = match changes.get("weightNet") {
            Some(change) => change["from"].as_f64().map(amount).transpose()?,
            None => Some(proof.weight_net),
        };
        Ok(Self {
            weight_net: weight_net.map(WeightMeasure::tonnes),
            ticket_number: text("ticketNumber", &proof.ticket_number),
            vehicle_registration: text("vehicleRegistration", &proof.vehicle_registration),
        })
    }

    /// Gives a load these values back, and removes those that only a proof has.
    pub(crate) fn restore(&self, load: &mut Load) {
        load.weight_net.clone_from(&self.weight_net);
        load.ticket_number.clone_from(&self.ticket_number);
        load.vehicle_registration.clone_from(&self.vehicle_registration);
        (load.weight_gross, load.weight_tare) = (None, None);
        load.quality.clear();
    }
}

impl Proof {
    /// Returns the weights.
    pub(crate) fn weights(&self) -> Weights {
        Weights { net: Some(self.weight_net), gross: self.weight_gross, tare: self.weight_tare }
    }

    /// Returns what looks wrong about the proof of a load.
    pub(crate) fn warnings(&self, load: &Load, tolerance: WeightTolerance) -> Vec<Warning> {
        let differs = tolerance.warning(self.weight_net, load.compared_weight());
        differs.into_iter().chain(self.weights().gross_warning(load.dropoff_postcode.as_deref())).collect()
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
        load.quality.clone_from(&self.quality);
        load.add_files(files);
    }
}

/// Checks a proof that is no repeat against its load. `is_proven`: the load has another proof.
///
/// # Errors
/// 400 if it is too old, or if its net weight is refused. 409 if the load has another proof or does not allow one.
pub(crate) fn check(
    proof: &Proof,
    captured_at: Option<Timestamp>,
    load: &Load,
    is_proven: bool,
    tolerance: WeightTolerance,
) -> Result<(), Error> {
    let mut errors = ValidationErrors::default();
    validate_captured_at(captured_at, (load.created_at, load.delivery_date), &mut errors);
    tolerance.check(proof.weight_net, load.compared_weight(), &mut errors);
    errors.check()?;
    if is_proven {
        return Err(Error::conflict(
            common::Reason::ProofDiffers,
            "The delivery of this load was already proven with other values.",
        ));
    }
    Action::Prove.check(load.status)
}
