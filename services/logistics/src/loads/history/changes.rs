//! The differences between two states of a load, by the members of requests.

use common::history::{self, Changes, Members};
use common::wire::WeightMeasure;
use serde_json::json;

use crate::loads::model::Load;

/// Returns the members of requests that differ between two states of a load.
pub(crate) fn changes(before: &Load, after: &Load) -> Changes {
    history::changes(members(before), members(after))
}

/// Returns the members of a load as requests name them. Files have their ids and names only.
fn members(load: &Load) -> Members<15> {
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
