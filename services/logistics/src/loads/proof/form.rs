//! The request bodies that prove a delivery.

use chrono::TimeDelta;
use common::Error;
use common::validation::{Code, ValidationErrors};
use common::wire::{DateOrDateTime, FileReference, QueryText, Reference, Registration};
use database::{Amount, Id, Timestamp};
use serde::Deserialize;
use utoipa::ToSchema;

use super::model::Proof;
use crate::examples;
use crate::loads::form::reword_tonnes;

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
pub(super) fn amount(tonnes: f64) -> Result<Amount, Error> {
    Amount::from_f64(tonnes).map_err(|e| Error::Internal(e.into()))
}

/// Returns the ids of files in lower case, sorted, each once.
pub(super) fn normalize_ids(files: &[FileReference]) -> Vec<String> {
    let mut ids: Vec<_> = files.iter().map(|file| file.id.to_ascii_lowercase()).collect();
    ids.sort();
    ids.dedup();
    ids
}
