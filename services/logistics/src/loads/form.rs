//! The two forms that a load is created by.

use common::problem::{Code, Problems};
use common::wire::{FileReference, Iso, Name, Postcode, Reference, Registration, Tag};
use database::Amount;
use serde::Deserialize;
use utoipa::ToSchema;

use super::model::{Commodity, NewLoad, Party};
use crate::commodities::Catalogue;

/// A load as its organiser creates it (interface.md, 4.2).
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct OrganiserForm {
    /// The caller's own organisation.
    #[schema(required = true)]
    pub organiser_id: Name,
    #[schema(required = true)]
    organiser_name: Name,
    /// Id in the catalogue of commodities.
    #[schema(required = true)]
    commodity_id: f64,
    #[schema(required = true)]
    reference: Reference,
    #[serde(rename = "deliveryDateISO")]
    #[schema(required = true)]
    delivery_date: Iso,
    /// Tonnes.
    #[schema(required = true, minimum = 0, maximum = 1000)]
    weight: Option<f64>,
    /// Tonnes.
    #[schema(required = true, minimum = 0, maximum = 1000)]
    weight_net: Option<f64>,
    ticket_number: Option<Reference>,
    vehicle_registration: Option<Registration>,
    pickup_postcode: Option<Postcode>,
    dropoff_postcode: Option<Postcode>,
    #[schema(required = true, max_items = 50)]
    files: Option<Vec<FileReference>>,
    #[schema(required = true, max_items = 50)]
    tags: Vec<Tag>,
}

/// A load as its carrier creates it (interface.md, 4.2).
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct CarrierForm {
    /// The organiser, if the load has one: it then sees the load.
    organisation_id: Option<Name>,
    organisation_name: Option<Name>,
    /// The caller's own organisation.
    #[schema(required = true)]
    pub carrier_id: Name,
    #[schema(required = true)]
    carrier_name: Name,
    /// Id in the catalogue of commodities.
    #[schema(required = true)]
    commodity_id: f64,
    #[schema(required = true)]
    reference: Reference,
    #[serde(rename = "deliveryDateISO")]
    #[schema(required = true)]
    delivery_date: Iso,
    /// Tonnes.
    #[schema(required = true, minimum = 0, maximum = 1000)]
    weight: Option<f64>,
    /// Tonnes.
    #[schema(minimum = 0, maximum = 1000)]
    weight_net: Option<f64>,
    ticket_number: Option<Reference>,
    vehicle_registration: Option<Registration>,
    pickup_postcode: Option<Postcode>,
    dropoff_postcode: Option<Postcode>,
    #[schema(max_items = 50)]
    files: Option<Vec<FileReference>>,
    #[schema(required = true, max_items = 50)]
    tags: Vec<Tag>,
}

/// What the schema cannot state.
fn rules(commodity_id: f64, catalogue: &Catalogue, problems: &mut Problems) {
    if catalogue.find(commodity_id).is_none() {
        problems.push("commodityId", Code::UnknownReference, "names no commodity: see GET /v1/commodities");
    }
    for weight in ["weight", "weightNet"] {
        reword_tonnes(weight, problems);
    }
}

/// The usual mistake with a weight gets a message of its own.
pub(super) fn reword_tonnes(path: &str, problems: &mut Problems) {
    problems.reword(path, Code::Range, "must be between 0 and 1000 tonnes (were kilograms meant?)");
}

impl OrganiserForm {
    /// What the schema cannot state.
    pub fn rules(&self, catalogue: &Catalogue, problems: &mut Problems) {
        rules(self.commodity_id, catalogue, problems);
    }

    /// The load that is meant; nothing if the form was not checked.
    pub fn into_new(self, catalogue: &Catalogue) -> Option<NewLoad> {
        Some(NewLoad {
            reference: self.reference.0,
            organiser: Some(party(&self.organiser_id, &self.organiser_name)),
            carrier: None,
            commodity: commodity(self.commodity_id, catalogue)?,
            delivery_date: self.delivery_date.start()?,
            pickup_postcode: self.pickup_postcode.map(|p| p.0),
            dropoff_postcode: self.dropoff_postcode.map(|p| p.0),
            weight: tonnes(self.weight)?,
            weight_net: tonnes(self.weight_net)?,
            vehicle_registration: self.vehicle_registration.map(|r| registration(&r)),
            ticket_number: self.ticket_number.map(|t| t.trim().to_owned()),
            files: self.files.unwrap_or_default(),
            tags: self.tags.into_iter().map(|t| t.0).collect(),
        })
    }
}

impl CarrierForm {
    /// What the schema cannot state.
    pub fn rules(&self, catalogue: &Catalogue, problems: &mut Problems) {
        rules(self.commodity_id, catalogue, problems);
    }

    /// The load that is meant; nothing if the form was not checked.
    pub fn into_new(self, catalogue: &Catalogue) -> Option<NewLoad> {
        let trimmed = |text: Option<Name>| text.map(|text| text.trim().to_owned());
        let (id, name) = (trimmed(self.organisation_id), trimmed(self.organisation_name));
        let organiser = name.or_else(|| id.clone()).map(|name| Party { id, name });
        Some(NewLoad {
            reference: self.reference.0,
            organiser,
            carrier: Some(party(&self.carrier_id, &self.carrier_name)),
            commodity: commodity(self.commodity_id, catalogue)?,
            delivery_date: self.delivery_date.start()?,
            pickup_postcode: self.pickup_postcode.map(|p| p.0),
            dropoff_postcode: self.dropoff_postcode.map(|p| p.0),
            weight: tonnes(self.weight)?,
            weight_net: tonnes(self.weight_net)?,
            vehicle_registration: self.vehicle_registration.map(|r| registration(&r)),
            ticket_number: self.ticket_number.map(|t| t.trim().to_owned()),
            files: self.files.unwrap_or_default(),
            tags: self.tags.into_iter().map(|t| t.0).collect(),
        })
    }
}

fn party(id: &Name, name: &Name) -> Party {
    Party { id: Some(id.trim().to_owned()), name: name.trim().to_owned() }
}

fn commodity(id: f64, catalogue: &Catalogue) -> Option<Commodity> {
    catalogue.find(id).map(|entry| Commodity { id: entry.id, name: entry.name.clone() })
}

/// A weight that may be absent; nothing if it is out of range.
#[expect(clippy::option_option, reason = "the outer one is failure")]
fn tonnes(weight: Option<f64>) -> Option<Option<Amount>> {
    weight.map(Amount::from_f64).transpose().ok()
}

/// Registrations are stored trimmed and in upper case.
pub(super) fn registration(text: &str) -> String {
    text.trim().to_uppercase()
}
