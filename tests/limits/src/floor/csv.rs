//! Exports of loads as CSV, with the columns of logistics.

use std::borrow::Cow;

use anyhow::Result;
use rusqlite::Connection;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Parameters, between, parameter};

const HEADER: &str = "id,reference,status,deliveryDateISO,organiserId,organiserName,carrierId,carrierName,\
                      commodityId,commodityName,weight,weightNet,weightUnit,vehicleRegistration,ticketNumber,\
                      pickupPostcode,dropoffPostcode,tags,files,completedAtUTC\r\n";

/// The members of a document that are columns. Texts without escapes are borrowed.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Row<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    reference: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow, rename = "deliveryDateISO")]
    delivery_date: Cow<'a, str>,
    #[serde(borrow)]
    organiser: Party<'a>,
    #[serde(borrow)]
    carrier: Party<'a>,
    #[serde(borrow)]
    commodity: Commodity<'a>,
    #[serde(borrow)]
    weight: Weight<'a>,
    #[serde(borrow)]
    weight_net: Weight<'a>,
    #[serde(borrow)]
    vehicle_registration: Cow<'a, str>,
    #[serde(borrow)]
    ticket_number: Cow<'a, str>,
    #[serde(borrow)]
    pickup_postcode: Cow<'a, str>,
    #[serde(borrow)]
    dropoff_postcode: Cow<'a, str>,
    #[serde(borrow)]
    tags: Vec<Cow<'a, str>>,
    #[serde(borrow, rename = "completedAtUTC")]
    completed_at: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Party<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Commodity<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Weight<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    weight: Option<&'a RawValue>,
}

/// Returns the loads of an organiser with a delivery date in a range.
pub fn export(connection: &Connection, query: &Parameters, organiser: &str) -> Result<String> {
    let by_delivery = query.get("sortBy").is_some_and(|key| key == "deliveryDateISO");
    let (index, column) =
        if by_delivery { ("floor_delivery", "delivery_at") } else { ("floor_created", "created_at") };
    let direction = if query.get("sortDesc").is_some_and(|desc| desc == "false") { "ASC" } else { "DESC" };
    let sql = format!(
        "SELECT document FROM loads INDEXED BY {index} WHERE organiser_id = ?1 AND delivery_at {} \
         ORDER BY {column} {direction}, id {direction} LIMIT ?4",
        between(2, 3)
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query((
        organiser,
        parameter(query, "startDateISO")?,
        parameter(query, "endDateISO")?,
        parameter(query, "limit")?.parse::<i64>()?,
    ))?;
    let mut csv = HEADER.to_owned();
    while let Some(row) = rows.next()? {
        write(&mut csv, &serde_json::from_str(row.get_ref(0)?.as_str()?)?);
    }
    Ok(csv)
}

fn write(csv: &mut String, row: &Row) {
    let unit = if row.weight.name.is_empty() { &row.weight_net.name } else { &row.weight.name };
    let tags = row.tags.join(";");
    for text in [
        &*row.id,
        &row.reference,
        &row.status,
        &row.delivery_date,
        &row.organiser.id,
        &row.organiser.name,
        &row.carrier.id,
        &row.carrier.name,
        row.commodity.id.map_or("", RawValue::get),
        &row.commodity.name,
        row.weight.weight.map_or("", RawValue::get),
        row.weight_net.weight.map_or("", RawValue::get),
        unit,
        &row.vehicle_registration,
        &row.ticket_number,
        &row.pickup_postcode,
        &row.dropoff_postcode,
        &tags,
        "", // no load of the bench has files
        &row.completed_at,
    ] {
        csv.push_str(&cell(text));
        csv.push(',');
    }
    csv.truncate(csv.len() - 1);
    csv.push_str("\r\n");
}

/// Returns a cell, quoted if it needs that.
fn cell(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\r', '\n']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}
