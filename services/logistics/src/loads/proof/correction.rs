//! The request body that corrects a proof of delivery.

use common::Error;
use common::validation::{Code, ValidationErrors};
use common::wire::{FileReference, Reason, Reference, Registration};
use serde::Deserialize;
use utoipa::ToSchema;

use super::form::{amount, normalize_ids};
use super::model::Proof;
use super::tolerance::WeightTolerance;
use crate::loads::form::reword_tonnes;
use crate::loads::model::Load;

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
