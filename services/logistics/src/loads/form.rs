//! The bodies that create, edit and cancel loads (docs/api/loads.md), and the rows of batches (docs/api/batches.md).

use common::validation::{Code, ValidationErrors};
use common::wire::{
    DateOrDateTime, ExternalId, FileReference, Message, Name, Postcode, QueryText, Reason, Reference,
    Registration, Tag, WeightMeasure,
};
use common::{Caller, Error, MergePatch, first_revision};
use database::{Amount, Id, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::model::{Commodity, Load};
use super::party::{CreatedBy, Party, PartyNames};
use super::status::Status;
use super::weights::reword_tonnes;
use crate::commodities::Catalogue;
use crate::examples;

/// A load that is created by its organiser.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({
    "organiserId": "penybont-farm", "organiserName": "Penybont Farm", "commodityId": 10, "reference": "PB-2026-0301",
    "deliveryDateISO": "2026-03-01", "weight": 29, "weightNet": null, "vehicleRegistration": "VX21 ABC",
    "pickupPostcode": "LD3 7HR", "dropoffPostcode": "HR4 9AR", "files": null, "tags": ["spring"],
}))]
pub(crate) struct OrganiserForm {
    /// The id of the caller's organisation.
    #[serde(default, rename = "organiserId")]
    #[schema(required = true)]
    organiser_id: ExternalId,
    /// Required unless the token or the address book has a name of the organisation.
    #[serde(default, rename = "organiserName")]
    organiser_name: Option<Name>,
    /// In tonnes.
    #[serde(default, rename = "weightNet")]
    #[schema(required = true, minimum = 0, maximum = 1000)]
    weight_net: Option<f64>,
    #[serde(default)]
    #[schema(required = true, max_items = 50)]
    files: Option<Vec<FileReference>>,
    #[serde(flatten)]
    fields: SharedFields,
}

/// A load that is created by its carrier.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({
    "organisationId": "border-grain", "organisationName": "Border Grain Merchants", "carrierId": "penybont-farm",
    "carrierName": "Penybont Farm", "commodityId": 1, "reference": "BG-2026-0301", "deliveryDateISO": "2026-03-01",
    "weight": 28.5, "vehicleRegistration": "VX21 ABC", "pickupPostcode": "LD3 7HR", "dropoffPostcode": "HR6 8QW",
    "files": null, "tags": [],
}))]
pub(crate) struct CarrierForm {
    /// The id of the organiser, who can then see the load.
    #[serde(default, rename = "organisationId")]
    organisation_id: Option<ExternalId>,
    #[serde(default, rename = "organisationName")]
    organisation_name: Option<Name>,
    /// The id of the caller's organisation.
    #[serde(default, rename = "carrierId")]
    #[schema(required = true)]
    carrier_id: ExternalId,
    /// Required unless the token or the address book has a name of the organisation.
    #[serde(default, rename = "carrierName")]
    carrier_name: Option<Name>,
    /// In tonnes.
    #[serde(default, rename = "weightNet")]
    #[schema(minimum = 0, maximum = 1000)]
    weight_net: Option<f64>,
    #[serde(default)]
    #[schema(max_items = 50)]
    files: Option<Vec<FileReference>>,
    #[serde(flatten)]
    fields: SharedFields,
}

/// The fields that both bodies and the rows of batches have.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SharedFields {
    /// The id of a commodity in the catalogue.
    #[schema(required = true, example = 1)]
    pub commodity_id: f64,
    #[schema(required = true)]
    pub reference: Reference,
    #[serde(rename = "deliveryDateISO")]
    #[schema(required = true)]
    pub delivery_date: DateOrDateTime,
    /// In tonnes.
    #[schema(required = true, minimum = 0, maximum = 1000)]
    pub weight: Option<f64>,
    pub ticket_number: Option<Reference>,
    pub vehicle_registration: Option<Registration>,
    pub pickup_postcode: Option<Postcode>,
    pub dropoff_postcode: Option<Postcode>,
    #[schema(required = true, max_items = 50)]
    pub tags: Vec<Tag>,
}

/// A row of a batch, by the names of its columns.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct BatchRow {
    #[schema(required = true)]
    pub(super) reference: Reference,
    #[serde(rename = "deliveryDateISO")]
    #[schema(required = true)]
    pub(super) delivery_date: DateOrDateTime,
    pub(super) organiser_id: Option<ExternalId>,
    pub(super) organiser_name: Option<Name>,
    pub(super) carrier_id: Option<ExternalId>,
    pub(super) carrier_name: Option<Name>,
    pub(super) commodity_id: Option<f64>,
    pub(super) commodity_name: Option<Name>,
    /// In tonnes.
    #[schema(minimum = 0, maximum = 1000)]
    pub(super) weight: Option<f64>,
    /// In tonnes.
    #[schema(minimum = 0, maximum = 1000)]
    pub(super) weight_net: Option<f64>,
    /// The unit of both weights: `tonne`, in any case, or empty.
    pub(super) weight_unit: Option<QueryText>,
    pub(super) vehicle_registration: Option<Registration>,
    pub(super) ticket_number: Option<Reference>,
    pub(super) pickup_postcode: Option<Postcode>,
    pub(super) dropoff_postcode: Option<Postcode>,
    #[schema(max_items = 50)]
    pub(super) tags: Vec<Tag>,
}

impl BatchRow {
    /// Returns the fields of a new load, and its net weight in tonnes.
    pub(super) fn into_fields(self, commodity_id: Option<f64>) -> (SharedFields, Option<f64>) {
        let fields = SharedFields {
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
        (fields, self.weight_net)
    }
}

/// Members of a load to change. Absent members stay as they are, `null` removes an optional one, arrays are replaced
/// whole.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({ "deliveryDateISO": "2026-03-02", "weight": 28.5, "pickupPostcode": null }))]
pub(crate) struct LoadPatch {
    #[schema(nullable = false)]
    pub reference: Option<Reference>,
    #[serde(rename = "deliveryDateISO")]
    #[schema(nullable = false)]
    pub delivery_date: Option<DateOrDateTime>,
    /// The id of a commodity in the catalogue.
    #[schema(nullable = false)]
    pub commodity_id: Option<f64>,
    /// In tonnes.
    #[schema(minimum = 0, maximum = 1000)]
    pub weight: Option<f64>,
    /// In tonnes.
    #[schema(minimum = 0, maximum = 1000)]
    pub weight_net: Option<f64>,
    pub ticket_number: Option<Reference>,
    pub vehicle_registration: Option<Registration>,
    pub pickup_postcode: Option<Postcode>,
    pub dropoff_postcode: Option<Postcode>,
    #[schema(max_items = 50, nullable = false)]
    pub tags: Option<Vec<Tag>>,
    #[schema(max_items = 50)]
    pub files: Option<Vec<FileReference>>,
    /// The id of the organisation that becomes the carrier. The present one loses access to the load.
    pub carrier_id: Option<ExternalId>,
    /// The name of the carrier, only together with `carrierId`. Defaults to the id for a new carrier.
    pub carrier_name: Option<Name>,
}

impl LoadPatch {
    /// Returns the files that the load refers to after the patch, if the patch names any.
    pub(crate) fn files(&self) -> &[FileReference] {
        self.files.as_deref().unwrap_or_default()
    }

    /// Applies a validated patch to a load, except for its commodity, carrier and files.
    ///
    /// # Errors
    /// 500 if the patch was not validated.
    pub(super) fn apply_values(patch: &MergePatch<Self>, load: &mut Load) -> Result<(), Error> {
        // Without `..`: a new member has to be applied.
        let Self {
            reference,
            delivery_date,
            commodity_id: _,
            weight,
            weight_net,
            ticket_number,
            vehicle_registration,
            pickup_postcode,
            dropoff_postcode,
            tags,
            files: _,
            carrier_id: _,
            carrier_name: _,
        } = &patch.members;
        if let Some(reference) = reference {
            load.reference.clone_from(&reference.0);
        }
        if let Some(date) = delivery_date.as_ref().and_then(DateOrDateTime::start) {
            load.delivery_date = date;
        }
        if let Some(tags) = tags {
            load.tags = tags.iter().map(|tag| tag.0.clone()).collect();
        }
        load.weight = patch.merge("weight", measure(*weight)?, load.weight.take());
        load.weight_net = patch.merge("weightNet", measure(*weight_net)?, load.weight_net.take());
        let text = |name: &str, value: Option<&String>, current: &mut Option<String>| {
            *current = patch.merge(name, value.cloned(), current.take());
        };
        text("ticketNumber", ticket_number.as_ref().map(|text| &text.0), &mut load.ticket_number);
        let registration = vehicle_registration.as_ref().map(|text| &text.0);
        text("vehicleRegistration", registration, &mut load.vehicle_registration);
        text("pickupPostcode", pickup_postcode.as_ref().map(|text| &text.0), &mut load.pickup_postcode);
        text("dropoffPostcode", dropoff_postcode.as_ref().map(|text| &text.0), &mut load.dropoff_postcode);
        Ok(())
    }
}

/// Why a load is cancelled.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(example = json!({ "reason": "The buyer withdrew" }))]
pub(crate) struct CancelForm {
    /// Stands in the history of the load.
    pub reason: Option<Reason>,
}

/// Why a load is reopened.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(example = json!({ "reason": "The proof was for another load" }))]
pub(crate) struct ReopenForm {
    /// Stands in the history of the load.
    #[schema(required = true)]
    pub reason: Reason,
}

/// A note on a load.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(example = json!({ "text": "The gate is locked: ring the farm first" }))]
pub(crate) struct NoteForm {
    #[schema(required = true)]
    pub text: Message,
}

/// Files to add to a load.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(example = json!({ "files": [{ "id": examples::FILE }] }))]
pub(crate) struct FilesForm {
    #[schema(required = true, min_items = 1, max_items = 50)]
    pub files: Vec<FileReference>,
}

/// 403 for a load of which neither party is the caller's organisation.
pub(crate) const FOREIGN_LOAD: Error = Error::Forbidden(FOREIGN);

/// Message for loads of which neither party is the caller's organisation.
pub(crate) const FOREIGN: &str = "Loads can only be created for your own organisation.";

/// Message for a commodity that the catalogue does not have.
pub(super) const UNKNOWN_COMMODITY: &str = "is not a known commodity: see GET /v1/commodities";

/// A validated body that creates a load.
pub(crate) trait LoadForm {
    /// Validates the rules that the schema cannot state.
    fn validate(&self, catalogue: &Catalogue, errors: &mut ValidationErrors);
    /// Returns the id of the organisation that must be the caller's own.
    fn owner_id(&self) -> &str;
    /// Returns the members with the ids of organisations, the owner first.
    fn parties(&self) -> Vec<(&'static str, &str)>;
    /// Returns the member for the owner's name, and whether it is absent.
    fn owner_name(&self) -> (&'static str, bool);
    /// Returns true if an organisation has no name.
    fn lacks_names(&self) -> bool;
    /// Returns the files that the load refers to.
    fn files(&self) -> &[FileReference];
    /// Returns a new load with these files.
    ///
    /// # Errors
    /// 500 if the form was not validated.
    fn into_load(
        self,
        catalogue: &Catalogue,
        caller: &Caller,
        names: &PartyNames,
        files: Vec<FileReference>,
    ) -> Result<Load, Error>;
}

impl LoadForm for OrganiserForm {
    fn validate(&self, catalogue: &Catalogue, errors: &mut ValidationErrors) {
        self.fields.validate(catalogue, errors);
    }

    fn owner_id(&self) -> &str {
        &self.organiser_id
    }

    fn parties(&self) -> Vec<(&'static str, &str)> {
        vec![("organiserId", &self.organiser_id)]
    }

    fn owner_name(&self) -> (&'static str, bool) {
        ("organiserName", self.organiser_name.is_none())
    }

    fn lacks_names(&self) -> bool {
        self.organiser_name.is_none()
    }

    fn files(&self) -> &[FileReference] {
        self.files.as_deref().unwrap_or_default()
    }

    fn into_load(
        self,
        catalogue: &Catalogue,
        caller: &Caller,
        names: &PartyNames,
        files: Vec<FileReference>,
    ) -> Result<Load, Error> {
        let organiser = Party::new(Some(self.organiser_id), self.organiser_name, names);
        let load = self.fields.into_load(catalogue, caller, self.weight_net)?;
        Ok(Load { organiser, files, ..load })
    }
}

impl LoadForm for CarrierForm {
    fn validate(&self, catalogue: &Catalogue, errors: &mut ValidationErrors) {
        self.fields.validate(catalogue, errors);
    }

    fn owner_id(&self) -> &str {
        &self.carrier_id
    }

    fn parties(&self) -> Vec<(&'static str, &str)> {
        let organiser = self.organisation_id.as_ref().map(|id| ("organisationId", &*id.0));
        [("carrierId", &*self.carrier_id.0)].into_iter().chain(organiser).collect()
    }

    fn owner_name(&self) -> (&'static str, bool) {
        ("carrierName", self.carrier_name.is_none())
    }

    fn lacks_names(&self) -> bool {
        self.carrier_name.is_none() || self.organisation_id.is_some() && self.organisation_name.is_none()
    }

    fn files(&self) -> &[FileReference] {
        self.files.as_deref().unwrap_or_default()
    }

    fn into_load(
        self,
        catalogue: &Catalogue,
        caller: &Caller,
        names: &PartyNames,
        files: Vec<FileReference>,
    ) -> Result<Load, Error> {
        let organiser = Party::new(self.organisation_id, self.organisation_name, names);
        let carrier = Party::new(Some(self.carrier_id), self.carrier_name, names);
        let load = self.fields.into_load(catalogue, caller, self.weight_net)?;
        Ok(Load { organiser, carrier, files, ..load })
    }
}

impl SharedFields {
    fn validate(&self, catalogue: &Catalogue, errors: &mut ValidationErrors) {
        if catalogue.find(self.commodity_id).is_none() {
            errors.push("commodityId", Code::UnknownReference, UNKNOWN_COMMODITY);
        }
        reword_tonnes("weight", errors);
        reword_tonnes("weightNet", errors);
    }

    /// Returns a new load without parties and files. `weight_net` is in tonnes.
    ///
    /// # Errors
    /// 500 if the fields were not validated.
    pub(super) fn into_load(
        self,
        catalogue: &Catalogue,
        caller: &Caller,
        weight_net: Option<f64>,
    ) -> Result<Load, Error> {
        let entry = catalogue.find(self.commodity_id).ok_or_else(|| not_validated("commodityId"))?;
        let created_at = Timestamp::now();
        Ok(Load {
            id: Id::new(),
            reference: self.reference.0,
            organiser: None,
            carrier: None,
            commodity: Commodity { id: entry.id, name: entry.name.clone() },
            delivery_date: self.delivery_date.start().ok_or_else(|| not_validated("deliveryDateISO"))?,
            dropoff_postcode: self.dropoff_postcode.map(|postcode| postcode.0),
            pickup_postcode: self.pickup_postcode.map(|postcode| postcode.0),
            weight: measure(self.weight)?,
            weight_gross: None,
            weight_tare: None,
            weight_net: measure(weight_net)?,
            vehicle_registration: self.vehicle_registration.map(|registration| registration.0),
            ticket_number: self.ticket_number.map(|ticket| ticket.0),
            quality: Vec::new(),
            collection: None,
            rejection: None,
            status: Status::Upcoming,
            files: Vec::new(),
            tags: self.tags.into_iter().map(|tag| tag.0).collect(),
            created_at,
            revision: first_revision(),
            updated_at: Some(created_at),
            completed_at: None,
            created_by: CreatedBy::of(caller),
            batch_id: None,
            newest_note: None,
            driver_ids: None,
            warnings: Vec::new(),
        })
    }
}

/// Returns a weight in tonnes as a load has it.
fn measure(tonnes: Option<f64>) -> Result<Option<WeightMeasure>, Error> {
    let amount = tonnes.map(Amount::from_f64).transpose().map_err(|e| Error::Internal(e.into()))?;
    Ok(amount.map(WeightMeasure::tonnes))
}

fn not_validated(field: &str) -> Error {
    Error::Internal(anyhow::anyhow!("{field} was not validated"))
}
