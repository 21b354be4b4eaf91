//! The differences between two states of a load, by the members of requests.

use std::collections::BTreeMap;

use common::wire::WeightMeasure;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::loads::model::Load;

/// The values of a member before and after a change. Absent: the member had, or has, no value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct Change {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub from: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub to: Option<Value>,
}

/// Changes by the names of request members.
pub(crate) type Changes = BTreeMap<&'static str, Change>;

/// Returns the members of requests that differ between two states of a load.
pub(crate) fn changes(before: &Load, after: &Load) -> Changes {
    let pairs = members(before).into_iter().zip(members(after));
    let changed = pairs.filter(|((_, from), (_, to))| from != to);
    changed.map(|((name, from), (_, to))| (name, Change { from, to })).collect()
}

/// Returns the members of a load as requests name them. Files have their ids and names only.
fn members(load: &Load) -> [(&'static str, Option<Value>); 15] {
    let tonnes = |weight: &Option<WeightMeasure>| weight.as_ref().map(|measure| json!(measure.weight));
    let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
    let files: Vec<_> = load.files.iter().map(|file| json!({ "id": file.id, "name": file.name })).collect();
    let carrier = load.carrier.as_ref();
    [
        ("reference", Some(json!(load.reference))),
        ("deliveryDateISO", Some(json!(load.delivery_date))),
        ("commodityId", Some(json!(load.commodity.id))),
        ("weight", tonnes(&load.weight)),
        ("weightGross", tonnes(&load.weight_gross)),
        ("weightTare", tonnes(&load.weight_tare)),
        ("weightNet", tonnes(&load.weight_net)),
        ("ticketNumber", text(&load.ticket_number)),
        ("vehicleRegistration", text(&load.vehicle_registration)),
        ("pickupPostcode", text(&load.pickup_postcode)),
        ("dropoffPostcode", text(&load.dropoff_postcode)),
        ("tags", Some(json!(load.tags))),
        ("files", Some(json!(files))),
        ("carrierId", carrier.and_then(|carrier| text(&carrier.id))),
        ("carrierName", carrier.map(|carrier| json!(carrier.name))),
    ]
}
