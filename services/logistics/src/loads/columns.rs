//! The columns of loads as CSV: what search and export write, batch takes back (contract, section 4).

use common::csv::guard;
use common::wire::WeightMeasure;
use common::{Error, Table};
use database::Json;

use super::model::Load;

/// Loads as a table.
pub(super) const TABLE: Table = Table { columns: &COLUMNS, cells };

/// In the order that they are written.
pub(super) const COLUMNS: [&str; 20] = [
    "id",
    "reference",
    "status",
    "deliveryDateISO",
    "organiserId",
    "organiserName",
    "carrierId",
    "carrierName",
    "commodityId",
    "commodityName",
    "weight",
    "weightNet",
    "weightUnit",
    "vehicleRegistration",
    "ticketNumber",
    "pickupPostcode",
    "dropoffPostcode",
    "tags",
    "files",
    "completedAtUTC",
];

fn cells(document: &Json) -> Result<Vec<String>, Error> {
    let load: Load = document.parse()?;
    let (organiser, carrier) = (load.organiser.unwrap_or_default(), load.carrier.unwrap_or_default());
    let weight = |weight: &Option<WeightMeasure>| weight.as_ref().map(|w| w.weight.to_string());
    let unit = load.weight.as_ref().or(load.weight_net.as_ref()).map(|w| w.name.to_string());
    let files: Vec<_> = load.files.iter().map(|file| file.id.as_str()).collect();
    let cells = [
        Some(load.id.to_string()),
        Some(load.reference),
        Some(load.status.as_str().to_owned()),
        Some(load.delivery_date.to_string()),
        organiser.id,
        Some(organiser.name),
        carrier.id,
        Some(carrier.name),
        Some(load.commodity.id.to_string()),
        Some(load.commodity.name),
        weight(&load.weight),
        weight(&load.weight_net),
        unit,
        load.vehicle_registration,
        load.ticket_number,
        load.pickup_postcode,
        load.dropoff_postcode,
        Some(load.tags.join(";")),
        Some(files.join(";")),
        load.completed_at.map(|at| at.to_string()),
    ];
    Ok(cells.into_iter().map(|cell| guard(&cell.unwrap_or_default()).into_owned()).collect())
}
