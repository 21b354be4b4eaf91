//! The rules of a row: those of the forms, for whoever fills in a table.

use common::Caller;
use common::validation::{Code, ValidationErrors};
use common::wire::{DateOrDateTime, Name, Postcode, QueryText, Reference, Registration, Tag};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use super::upload::Organiser;
use crate::commodities::Catalogue;
use crate::loads::form::{SharedFields, party, reword_tonnes};
use crate::loads::model::{NewLoad, Party};

/// A row, by the names of its columns.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct BatchRow {
    #[schema(required = true)]
    reference: Reference,
    #[serde(rename = "deliveryDateISO")]
    #[schema(required = true)]
    delivery_date: DateOrDateTime,
    organiser_id: Option<Name>,
    organiser_name: Option<Name>,
    carrier_id: Option<Name>,
    carrier_name: Option<Name>,
    commodity_id: Option<f64>,
    commodity_name: Option<Name>,
    #[schema(minimum = 0, maximum = 1000)]
    weight: Option<f64>,
    #[schema(minimum = 0, maximum = 1000)]
    weight_net: Option<f64>,
    weight_unit: Option<QueryText>,
    vehicle_registration: Option<Registration>,
    ticket_number: Option<Reference>,
    pickup_postcode: Option<Postcode>,
    dropoff_postcode: Option<Postcode>,
    #[schema(max_items = 50)]
    tags: Vec<Tag>,
}

const REQUIRED: &str = "is required";

/// Makes what the schema found plain for somebody who looks at a table: one entry for each cell.
pub fn reword(mut found: ValidationErrors, errors: &mut ValidationErrors) {
    reword_tonnes("weight", &mut found);
    reword_tonnes("weightNet", &mut found);
    found.reword("commodityId", Code::Type, "must be a number: see GET /v1/commodities");
    for name in ["weight", "weightNet"] {
        found.reword(name, Code::Type, "must be a number, such as 29.4");
    }
    for field_error in found {
        let cell = field_error.path.split(['[', '.']).next().unwrap_or_default();
        errors.push_with(cell, field_error.code, field_error.message, field_error.data.into());
    }
}

impl BatchRow {
    /// The load that is meant, and what is wrong with the row; nothing if that is something. `nameless` is set when
    /// the form's organiser is the row's and has no name. The caller's own organisation needs no name if the token has
    /// it.
    pub fn into_new(
        mut self,
        organiser: &Organiser,
        caller: &Caller,
        catalogue: &Catalogue,
        errors: &mut ValidationErrors,
        nameless: &mut bool,
    ) -> Option<NewLoad> {
        let commodity_id = self.commodity(catalogue, errors);
        if self.weight_unit.as_ref().is_some_and(|unit| !unit.eq_ignore_ascii_case("tonne")) {
            errors.push_with("weightUnit", Code::Enum, "must be tonne", json!({ "allowed": ["tonne"] }));
        }
        let parties = self.parties(organiser, caller, errors, nameless);
        let goods = SharedFields {
            commodity_id: commodity_id.unwrap_or_default(),
            reference: self.reference,
            delivery_date: self.delivery_date,
            weight: self.weight,
            ticket_number: self.ticket_number,
            vehicle_registration: self.vehicle_registration,
            pickup_postcode: self.pickup_postcode,
            dropoff_postcode: self.dropoff_postcode,
            tags: self.tags,
        };
        if errors.is_empty() { goods.into_new(catalogue, parties, self.weight_net, None) } else { None }
    }

    fn commodity(&self, catalogue: &Catalogue, errors: &mut ValidationErrors) -> Option<f64> {
        let by_name = self.commodity_name.as_ref().map(|name| catalogue.find_name(name));
        let by_id = self.commodity_id.map(|id| catalogue.find(id));
        let unknown = "names no commodity: see GET /v1/commodities";
        if let (Some(None), Some(None)) = (by_id, by_name) {
            errors.push("commodityName", Code::UnknownReference, unknown);
        }
        match (by_id, by_name) {
            (Some(None), _) => errors.push("commodityId", Code::UnknownReference, unknown),
            (_, Some(None)) => errors.push("commodityName", Code::UnknownReference, unknown),
            (Some(Some(id)), Some(Some(name))) if id.id != name.id => {
                let message = format!("is not the commodity {}, which is {}", id.id, id.name);
                errors.push("commodityName", Code::Inconsistent, message);
            }
            (Some(found), _) | (None, Some(found)) => return found.map(|entry| entry.id.into()),
            (None, None) if errors.failed("commodityName") => {}
            (None, None) => {
                errors.push("commodityId", Code::Required, "is required: commodityId or commodityName");
            }
        }
        None
    }

    fn parties(
        &mut self,
        form: &Organiser,
        caller: &Caller,
        errors: &mut ValidationErrors,
        nameless: &mut bool,
    ) -> (Option<Party>, Option<Party>) {
        let (mut id, mut name) = (self.organiser_id.take(), self.organiser_name.take());
        let (carrier_id, carrier_name) = (self.carrier_id.take(), self.carrier_name.take());
        let refused = ["organiserId", "organiserName"].iter().any(|field| errors.failed(field));
        let is_forms = id.is_none() && name.is_none() && !refused;
        if is_forms {
            id.clone_from(&form.id);
        }
        // Another organisation's name is not this one's.
        if is_forms || (name.is_none() && form.id.as_ref().is_none_or(|own| id.as_ref() == Some(own))) {
            name = name.or_else(|| form.name.clone());
        }
        let lacks_name = |id: &Option<Name>, name: &Option<Name>| {
            name.is_none() && id.as_ref().is_some_and(|id| caller.own_name(id).is_none())
        };
        if lacks_name(&id, &name) {
            if is_forms {
                *nameless = true;
            } else {
                errors.push("organiserName", Code::Required, REQUIRED);
            }
        }
        if lacks_name(&carrier_id, &carrier_name) {
            errors.push("carrierName", Code::Required, REQUIRED);
        }
        if carrier_name.is_some() && carrier_id.is_none() {
            errors.push("carrierId", Code::Required, REQUIRED);
        }
        if id.is_none() && carrier_id.is_none() && !errors.failed("carrierId") {
            errors.push("organiserId", Code::Required, "is required: organiserId or carrierId");
        }
        (party(id, name), party(carrier_id, carrier_name))
    }
}
