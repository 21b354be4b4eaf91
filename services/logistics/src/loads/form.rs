//! The two forms that a load is created by.

use common::validation::{Code, ValidationErrors};
use common::wire::{DateOrDateTime, FileReference, Name, Postcode, Reference, Registration, Tag};
use database::Amount;
use serde::Deserialize;
use utoipa::ToSchema;

use super::model::{Commodity, NewLoad, Party};
use crate::commodities::Catalogue;

/// A load as its organiser creates it (interface.md, 4.2).
#[derive(Debug, Default, Deserialize, ToSchema)]
pub struct OrganiserForm {
    /// The caller's own organisation.
    #[serde(default, rename = "organiserId")]
    #[schema(required = true)]
    organiser_id: Name,
    #[serde(default, rename = "organiserName")]
    #[schema(required = true)]
    organiser_name: Name,
    /// Tonnes.
    #[serde(default, rename = "weightNet")]
    #[schema(required = true, minimum = 0, maximum = 1000)]
    weight_net: Option<f64>,
    #[serde(default)]
    #[schema(required = true, max_items = 50)]
    files: Option<Vec<FileReference>>,
    #[serde(flatten)]
    goods: SharedFields,
}

/// A load as its carrier creates it (interface.md, 4.2).
#[derive(Debug, Default, Deserialize, ToSchema)]
pub struct CarrierForm {
    /// The organiser, if the load has one: it then sees the load.
    #[serde(default, rename = "organisationId")]
    organisation_id: Option<Name>,
    #[serde(default, rename = "organisationName")]
    organisation_name: Option<Name>,
    /// The caller's own organisation.
    #[serde(default, rename = "carrierId")]
    #[schema(required = true)]
    carrier_id: Name,
    #[serde(default, rename = "carrierName")]
    #[schema(required = true)]
    carrier_name: Name,
    /// Tonnes.
    #[serde(default, rename = "weightNet")]
    #[schema(minimum = 0, maximum = 1000)]
    weight_net: Option<f64>,
    #[serde(default)]
    #[schema(max_items = 50)]
    files: Option<Vec<FileReference>>,
    #[serde(flatten)]
    goods: SharedFields,
}

/// What both forms say.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SharedFields {
    /// Id in the catalogue of commodities.
    #[schema(required = true, example = 1)]
    pub commodity_id: f64,
    #[schema(required = true)]
    pub reference: Reference,
    #[serde(rename = "deliveryDateISO")]
    #[schema(required = true)]
    pub delivery_date: DateOrDateTime,
    /// Tonnes.
    #[schema(required = true, minimum = 0, maximum = 1000)]
    pub weight: Option<f64>,
    pub ticket_number: Option<Reference>,
    pub vehicle_registration: Option<Registration>,
    pub pickup_postcode: Option<Postcode>,
    pub dropoff_postcode: Option<Postcode>,
    #[schema(required = true, max_items = 50)]
    pub tags: Vec<Tag>,
}

/// The usual mistake with a weight gets a message of its own.
pub(super) fn reword_tonnes(path: &str, errors: &mut ValidationErrors) {
    errors.reword(path, Code::Range, "must be between 0 and 1000 tonnes (were kilograms meant?)");
}

/// What a load is created by, checked.
pub trait Form {
    /// What the schema cannot state.
    fn rules(&self, catalogue: &Catalogue, errors: &mut ValidationErrors);
    /// The organisation that must be the caller's own.
    fn owner(&self) -> &str;
    /// The files that the load names.
    fn files(&self) -> &[FileReference];
    /// The load that is meant; nothing if the form was not checked.
    fn into_new(self, catalogue: &Catalogue) -> Option<NewLoad>;
}

impl Form for OrganiserForm {
    fn rules(&self, catalogue: &Catalogue, errors: &mut ValidationErrors) {
        self.goods.rules(catalogue, errors);
    }

    fn owner(&self) -> &str {
        &self.organiser_id
    }

    fn files(&self) -> &[FileReference] {
        self.files.as_deref().unwrap_or_default()
    }

    fn into_new(self, catalogue: &Catalogue) -> Option<NewLoad> {
        let organiser = party(Some(self.organiser_id), Some(self.organiser_name));
        self.goods.into_new(catalogue, (organiser, None), self.weight_net, self.files)
    }
}

impl Form for CarrierForm {
    fn rules(&self, catalogue: &Catalogue, errors: &mut ValidationErrors) {
        self.goods.rules(catalogue, errors);
    }

    fn owner(&self) -> &str {
        &self.carrier_id
    }

    fn files(&self) -> &[FileReference] {
        self.files.as_deref().unwrap_or_default()
    }

    fn into_new(self, catalogue: &Catalogue) -> Option<NewLoad> {
        let organiser = party(self.organisation_id, self.organisation_name);
        let carrier = party(Some(self.carrier_id), Some(self.carrier_name));
        self.goods.into_new(catalogue, (organiser, carrier), self.weight_net, self.files)
    }
}

impl SharedFields {
    fn rules(&self, catalogue: &Catalogue, errors: &mut ValidationErrors) {
        if catalogue.find(self.commodity_id).is_none() {
            let message = "names no commodity: see GET /v1/commodities";
            errors.push("commodityId", Code::UnknownReference, message);
        }
        reword_tonnes("weight", errors);
        reword_tonnes("weightNet", errors);
    }

    /// The load that is meant; nothing if this was not checked.
    pub(super) fn into_new(
        self,
        catalogue: &Catalogue,
        (organiser, carrier): (Option<Party>, Option<Party>),
        weight_net: Option<f64>,
        files: Option<Vec<FileReference>>,
    ) -> Option<NewLoad> {
        let entry = catalogue.find(self.commodity_id)?;
        Some(NewLoad {
            reference: self.reference.0,
            organiser,
            carrier,
            commodity: Commodity { id: entry.id, name: entry.name.clone() },
            delivery_date: self.delivery_date.start()?,
            pickup_postcode: self.pickup_postcode.map(|p| p.0),
            dropoff_postcode: self.dropoff_postcode.map(|p| p.0),
            weight: self.weight.map(Amount::from_f64).transpose().ok()?,
            weight_net: weight_net.map(Amount::from_f64).transpose().ok()?,
            vehicle_registration: self.vehicle_registration.map(|r| r.0),
            ticket_number: self.ticket_number.map(|t| t.0),
            files: files.unwrap_or_default(),
            tags: self.tags.into_iter().map(|t| t.0).collect(),
        })
    }
}

/// An organisation by its id and name; the name is the id where none was given.
pub(super) fn party(id: Option<Name>, name: Option<Name>) -> Option<Party> {
    let (id, name) = (id.map(|id| id.0), name.map(|name| name.0));
    name.or_else(|| id.clone()).map(|name| Party { id, name })
}
