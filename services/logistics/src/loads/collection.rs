//! The collection of a load: what was loaded, where, by which vehicle (docs/api/loads.md, "Collection").

use common::Error;
use common::validation::ValidationErrors;
use common::wire::{DateOrDateTime, FileReference, Reference, Registration, Warning, WeightMeasure};
use database::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::captured::{normalize_ids, validate_not_in_future};
use super::quality::{self, Quality, QualityWithUnit};
use super::weights::{ComparedWeight, WeightTolerance, Weights, amount, reword_weights};

/// What was loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Collection {
    /// The weight of what was loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub weight_net: Option<WeightMeasure>,
    /// The weight of the loaded vehicle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub weight_gross: Option<WeightMeasure>,
    /// The weight of the empty vehicle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub weight_tare: Option<WeightMeasure>,
    /// The number of the ticket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub ticket_number: Option<String>,
    /// The registration of the vehicle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub vehicle_registration: Option<String>,
    /// Tickets and photographs of the collection.
    #[serde(default)]
    pub files: Vec<FileReference>,
    /// The quality of what was loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<QualityWithUnit>)]
    pub quality: Vec<Quality>,
    /// When the load was collected.
    #[serde(rename = "atUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// A collection to record.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({
    "weightGross": 43.7, "weightTare": 14.8, "ticketNumber": "F-112", "vehicleRegistration": "VX21 ABC",
    "quality": [{ "measure": "moisture", "value": 14.2 }, { "measure": "specificWeight", "value": 76.5 }],
}))]
pub(crate) struct CollectionForm {
    /// In tonnes. By default the gross weight minus the tare weight, where both are named.
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
    #[schema(max_items = 50)]
    files: Option<Vec<FileReference>>,
    #[schema(max_items = 20)]
    quality: Option<Vec<Quality>>,
    /// When the load was collected, for a driver who was offline; by default the present time. At most 366 days before
    /// the creation or the delivery date of the load, whichever is earlier.
    #[serde(rename = "capturedAtUTC")]
    captured_at: Option<DateOrDateTime>,
}

impl CollectionForm {
    /// Validates the rules that the schema cannot state.
    pub(crate) fn validate(&self, errors: &mut ValidationErrors) {
        quality::validate(self.quality.as_deref().unwrap_or_default(), errors);
        validate_not_in_future(self.captured_at(), errors);
        if !reword_weights(errors) {
            return;
        }
        if let Ok(weights) = self.weights() {
            weights.validate(errors);
        }
    }

    /// Returns the files of the collection.
    pub(crate) fn files(&self) -> &[FileReference] {
        self.files.as_deref().unwrap_or_default()
    }

    /// Returns when the load was collected, if the request says so.
    pub(crate) fn captured_at(&self) -> Option<Timestamp> {
        self.captured_at.as_ref().and_then(DateOrDateTime::start)
    }

    fn weights(&self) -> Result<Weights, Error> {
        let amount = |tonnes: Option<f64>| tonnes.map(amount).transpose();
        Ok(Weights {
            net: amount(self.weight_net)?,
            gross: amount(self.weight_gross)?,
            tare: amount(self.weight_tare)?,
        })
    }

    /// Returns the collection. `files` are the complete references of its files.
    ///
    /// # Errors
    /// 500 if the weights were not validated.
    pub(crate) fn collection(&self, files: Vec<FileReference>, at: Timestamp) -> Result<Collection, Error> {
        let weights = self.weights()?;
        Ok(Collection {
            weight_net: weights.net().map(WeightMeasure::tonnes),
            weight_gross: weights.gross.map(WeightMeasure::tonnes),
            weight_tare: weights.tare.map(WeightMeasure::tonnes),
            ticket_number: self.ticket_number.as_ref().map(|ticket| ticket.0.clone()),
            vehicle_registration: self
                .vehicle_registration
                .as_ref()
                .map(|registration| registration.0.clone()),
            files,
            quality: self.quality.clone().unwrap_or_default(),
            at,
        })
    }
}

impl Collection {
    /// Returns true if both have the same values, whenever they were captured.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        // Without `..`: a new value has to be compared.
        let Self {
            weight_net,
            weight_gross,
            weight_tare,
            ticket_number,
            vehicle_registration,
            files,
            quality,
            at: _,
        } = self;
        *weight_net == other.weight_net
            && *weight_gross == other.weight_gross
            && *weight_tare == other.weight_tare
            && *ticket_number == other.ticket_number
            && *vehicle_registration == other.vehicle_registration
            && normalize_ids(files) == normalize_ids(&other.files)
            && quality::is_same(quality, &other.quality)
    }

    /// Returns what looks wrong about the collection of a load with this weight and destination.
    ///
    /// # Errors
    /// 400 if the net weight is refused.
    pub(crate) fn check(
        &self,
        weight: Option<&WeightMeasure>,
        dropoff_postcode: Option<&str>,
        tolerance: WeightTolerance,
    ) -> Result<Vec<Warning>, Error> {
        let tonnes = |measure: &Option<WeightMeasure>| measure.as_ref().map(|measure| measure.weight);
        let (net, agreed) = (tonnes(&self.weight_net), ComparedWeight::agreed(weight));
        let mut errors = ValidationErrors::default();
        let differs = net.and_then(|net| tolerance.check(net, agreed, &mut errors));
        errors.check()?;
        let weights = Weights { net, gross: tonnes(&self.weight_gross), tare: None };
        Ok(differs.into_iter().chain(weights.gross_warning(dropoff_postcode)).collect())
    }
}
