//! The request bodies that edit and cancel a load.

use common::wire::{
    DateOrDateTime, ExternalId, FileReference, Name, Postcode, Reason, Reference, Registration, Tag,
};
use serde::Deserialize;
use utoipa::ToSchema;

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
}

/// Why a load is cancelled.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(example = json!({ "reason": "The buyer withdrew" }))]
pub(crate) struct CancelForm {
    /// Stands in the history of the load.
    pub reason: Option<Reason>,
}
