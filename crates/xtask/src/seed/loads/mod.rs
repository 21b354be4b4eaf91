//! Loads of the sample market: entered in all forms, in all states, over the last year and the next two weeks.

mod plan;

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use stack::http::Body;
use stack::multipart::Form as Upload;

pub use self::plan::COUNT;
use self::plan::{Form, LoadPlan, Proof, plan};
use super::market::{Market, id_of, postcode};
use super::people::{ADMIN, ORGANISERS};
use super::photo::{self, Ticket};

/// Mills, stores and ports where loads are delivered: latitudes and longitudes in degrees.
#[rustfmt::skip]
const DESTINATIONS: [(f64, f64); 14] = [
    (51.50, -2.69), (52.06, -2.71), (52.37, -2.72), (52.80, -1.63), (52.25, 0.71), (53.46, -3.02), (53.74, -0.28), (53.78, -1.07),
    (55.77, -2.00), (56.71, -2.47), (57.69, -4.16), (54.61, -5.92), (51.90, -8.43), (53.35, -6.20),
];

const HEADER: &str = "reference,deliveryDateISO,organiserId,organiserName,carrierId,carrierName,commodityId,weight,\
                      pickupPostcode,dropoffPostcode,tags\r\n";

/// Creates the loads that do not exist, and proves the deliveries that an interrupted run left out. Returns the
/// number of new loads.
pub fn create(market: &Market<'_>, farms: &[Value]) -> Result<usize> {
    let destinations =
        DESTINATIONS.iter().map(|point| market.location(*point)).collect::<Result<Vec<_>>>()?;
    let existing = existing(market)?;
    let (known, plans): (Vec<_>, Vec<_>) = (1..=COUNT)
        .map(|number| plan(number, &DESTINATIONS, market.today))
        .partition(|load| existing.contains_key(&load.reference));
    for load in known {
        match existing.get(&load.reference) {
            Some((id, status)) if load.proof.is_some() && status == "upcoming" => {
                proceed(market, &load, id).with_context(|| load.reference.clone())?;
            }
            _ => {}
        }
    }
    let postcodes = |load: &LoadPlan| (postcode(&farms[load.pickup]), postcode(&destinations[load.dropoff]));
    for organiser in ORGANISERS.map(|(party, _)| party.person) {
        let loads: Vec<_> =
            plans.iter().filter(|load| load.organiser == organiser && load.form == Form::Batch).collect();
        for (load, id) in loads.iter().zip(import(market, &loads, &postcodes)?) {
            proceed(market, load, &id).with_context(|| load.reference.clone())?;
        }
    }
    for load in plans.iter().filter(|load| load.form != Form::Batch) {
        let enter = || proceed(market, load, &enter(market, load, postcodes(load))?);
        enter().with_context(|| load.reference.clone())?;
    }
    Ok(plans.len())
}

/// Id and status of all loads, by their references.
fn existing(market: &Market<'_>) -> Result<BTreeMap<String, (String, String)>> {
    let export = market.get(ADMIN, &format!("{}/v1/loads?format=CSV", market.logistics))?;
    let export = String::from_utf8_lossy(&export.bytes).into_owned();
    let row = |line: &str| {
        let mut cells = line.split(',').map(str::to_owned);
        let (id, reference, status) = (cells.next()?, cells.next()?, cells.next()?);
        Some((reference, (id, status)))
    };
    Ok(export.lines().filter_map(row).collect())
}

/// Imports loads of one organiser as a spreadsheet and returns their ids.
fn import<'a>(
    market: &Market<'_>,
    loads: &[&'a LoadPlan],
    postcodes: &impl Fn(&'a LoadPlan) -> (&'a str, &'a str),
) -> Result<Vec<String>> {
    let Some(first) = loads.first() else { return Ok(Vec::new()) };
    let mut csv = HEADER.to_owned();
    for load in loads {
        let LoadPlan { reference, date, organiser, haulier, commodity, tag, .. } = load;
        let (pickup, dropoff) = postcodes(load);
        writeln!(
            csv,
            "{reference},{date},{},{},{},{},{commodity},{},{pickup},{dropoff},{tag}\r",
            organiser.org,
            organiser.org_name,
            haulier.org,
            haulier.org_name,
            tonnes(load.weight),
        )?;
    }
    let upload = Upload {
        fields: Vec::new(),
        file_name: "loads.csv",
        media_type: "text/csv",
        content: csv.into_bytes().into(),
    };
    let (url, key) = (format!("{}/v1/loads/batch", market.logistics), format!("batch-{}", first.reference));
    let imported = market.post(first.organiser, &url, &key, &Body::Form(upload))?;
    let ids = imported["ids"].as_array().context("no ids in the response of the import")?;
    Ok(ids.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// Enters a load by the form of its carrier or organiser and returns its id.
fn enter(market: &Market<'_>, load: &LoadPlan, (pickup, dropoff): (&str, &str)) -> Result<String> {
    let (organiser, haulier) = (load.organiser, load.haulier);
    let mut body = json!({
        "commodityId": load.commodity,
        "reference": load.reference,
        "deliveryDateISO": load.date.to_string(),
        "weight": tonnes(load.weight),
        "weightNet": null,
        "files": null,
        "tags": [load.tag],
        "pickupPostcode": pickup,
        "dropoffPostcode": dropoff,
    });
    let (caller, form, parties) = match load.form {
        Form::Carrier => (
            haulier,
            "carrier",
            vec![
                ("organisationId", organiser.org),
                ("organisationName", organiser.org_name),
                ("carrierId", haulier.org),
                ("carrierName", haulier.org_name),
            ],
        ),
        Form::Organiser | Form::Batch => (
            organiser,
            "organiser",
            vec![("organiserId", organiser.org), ("organiserName", organiser.org_name)],
        ),
    };
    for (member, value) in parties {
        body[member] = json!(value);
    }
    let url = format!("{}/v1/loads/{form}", market.logistics);
    id_of(&market.post(caller, &url, &format!("load-{}", load.reference), &Body::Json(body))?)
}

/// Sends a load, proves its delivery and accepts it, as far as planned.
fn proceed(market: &Market<'_>, load: &LoadPlan, id: &str) -> Result<()> {
    let reference = &load.reference;
    let url = format!("{}/v1/loads", market.logistics);
    let post = |person, path: &str, key: &str, body| {
        market
            .post(person, &format!("{url}/{path}"), &format!("{key}-{reference}"), &Body::Json(body))
            .map(drop)
    };
    if load.is_sent {
        let haulier = load.haulier;
        let body = json!({"loadId": id, "carrierId": haulier.org, "carrierName": haulier.org_name});
        post(load.organiser, "send-to-carrier", "carrier", body)?;
    }
    if let Some(driver) = load.driver {
        post(load.haulier, "send-to-driver", "driver", json!({"loadId": id, "driverId": driver.user}))?;
    }
    if let Some(proof) = &load.proof {
        let prover = load.driver.unwrap_or(load.haulier);
        let mut files = Vec::new();
        if proof.has_photo {
            let (name, png) = (format!("Ticket {}", proof.ticket), draw(load, proof)?);
            let file = market.upload(prover, "weighbridge", &name, &format!("ticket-{reference}"), png)?;
            files.push(json!({"id": file}));
        }
        let body = json!({
            "weightNet": tonnes(proof.net),
            "ticketNumber": proof.ticket,
            "vehicleRegistration": proof.vehicle,
            "files": files,
            "capturedAtUTC": proof.captured_at,
        });
        post(prover, &format!("{id}/proof-of-delivery"), "proof", body)?;
    }
    if load.is_accepted {
        let (url, key) = (format!("{url}/{id}/accept"), format!("accept-{reference}"));
        market.post(load.organiser, &url, &key, &Body::Empty)?;
    }
    Ok(())
}

/// Draws the ticket of a load.
fn draw(load: &LoadPlan, proof: &Proof) -> Result<Vec<u8>> {
    photo::ticket(&Ticket {
        number: &proof.ticket,
        vehicle: &proof.vehicle,
        date: &load.date.to_string(),
        gross: tonnes(proof.net + proof.tare),
        net: tonnes(proof.net),
    })
}

/// Tonnes of a weight in units of 10 kg.
fn tonnes(weight: u32) -> f64 {
    f64::from(weight) / 100.0
}
