//! Loads of the sample market: entered in all forms, in all states, over the last year and the next two weeks.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result};
use chrono::{Datelike, NaiveDate, TimeDelta};
use serde_json::{Value, json};

use super::market::{Market, id_of, postcode};
use super::photo::{self, Ticket};
use crate::market::batch_csv;
use crate::market::random::Random;
use crate::market::seed::listings::weighted;
use crate::market::seed::people::{ADMIN, DRIVERS, FARMS, HAULIERS, ORGANISERS, Person};
use crate::processes::http::Body;

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
    let upload = batch_csv(csv);
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

/// Number of loads.
pub const COUNT: usize = 300;

/// Days from the delivery of the first load until today, and until that of the last.
const PERIOD: (i64, i64) = (-365, 14);

/// How a load is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In a spreadsheet of the organiser, with its carrier.
    Batch,
    /// By the carrier.
    Carrier,
    /// By the organiser, without a carrier.
    Organiser,
}

/// A load and what happens to it.
#[derive(Debug)]
pub struct LoadPlan {
    /// A reference that no other load has.
    pub reference: String,
    /// How it is entered.
    pub form: Form,
    /// The organiser.
    pub organiser: Person,
    /// The haulier that carries it, or would.
    pub haulier: Person,
    /// Id of the commodity.
    pub commodity: u32,
    /// Weight in units of 10 kg.
    pub weight: u32,
    /// Date of the delivery.
    pub date: NaiveDate,
    /// Index of the farm where it is loaded.
    pub pickup: usize,
    /// Index of the place where it is delivered.
    pub dropoff: usize,
    /// A tag.
    pub tag: &'static str,
    /// Whether the organiser sends it to the haulier.
    pub is_sent: bool,
    /// The driver that the haulier sends it to.
    pub driver: Option<Person>,
    /// The proof of its delivery.
    pub proof: Option<Proof>,
    /// Whether the organiser accepts it.
    pub is_accepted: bool,
}

/// A proof of delivery.
#[derive(Debug)]
pub struct Proof {
    /// Net weight in units of 10 kg.
    pub net: u32,
    /// Weight of the empty vehicle in units of 10 kg.
    pub tare: u32,
    /// Number of the ticket.
    pub ticket: String,
    /// Registration of the vehicle.
    pub vehicle: String,
    /// When it was signed.
    pub captured_at: String,
    /// Whether it has a photograph of the ticket.
    pub has_photo: bool,
}

/// A commodity of the sample market: its id, its lowest and highest weight in units of 10 kg, and a tag.
type Product = (u32, (u32, u32), &'static str);

#[rustfmt::skip]
const HARVEST: [Product; 6] = [
    (1, (2720, 2960), "harvest"), (2, (2740, 2960), "harvest"), (10, (2560, 2880), "harvest"), (11, (2600, 2900), "contract"),
    (28, (2680, 2950), "harvest"), (80, (1250, 1780), "straw"),
];
#[rustfmt::skip]
const WINTER: [Product; 7] = [
    (1, (2720, 2960), "store"), (126, (1400, 2900), "feed"), (129, (600, 2400), "feed"), (109, (2500, 2880), "feed"),
    (50, (2500, 2860), "contract"), (69, (1200, 1600), "forage"), (48, (2700, 2950), "contract"),
];
#[rustfmt::skip]
const SPRING: [Product; 5] = [
    (148, (2000, 2800), "fertiliser"), (159, (2780, 2920), "lime"), (129, (600, 2400), "feed"), (10, (2560, 2880), "store"),
    (69, (1200, 1600), "forage"),
];
#[rustfmt::skip]
const SUMMER: [Product; 4] =
    [(1, (2720, 2960), "store"), (2, (2740, 2960), "contract"), (73, (1600, 2400), "forage"), (69, (1200, 1700), "forage")];

/// The plan of the load with this number, from 1 to [`COUNT`].
pub fn plan(number: usize, destinations: &[(f64, f64)], today: NaiveDate) -> LoadPlan {
    let random = &mut Random::of(100_000 + number);
    let (organiser, _) = ORGANISERS[weighted(random, ORGANISERS.iter().map(|(_, share)| *share))];
    let hauliers = HAULIERS.map(|party| party.point);
    let haulier = HAULIERS[if random.percent(75) { nearest(organiser.point, &hauliers)[0] } else { 0 }];
    let pickup = nearest(organiser.point, &FARMS.map(|farm| farm.point))[random.below(8)];
    let dropoff = nearest(FARMS[pickup].point, destinations)[random.below(3)];
    let step = i64::try_from(number).unwrap_or_default() * (PERIOD.1 - PERIOD.0) / 300;
    let date = today + TimeDelta::days(PERIOD.0 + step);
    let products: &[Product] = match date.month() {
        8..=10 => &HARVEST,
        3..=5 => &SPRING,
        6..=7 => &SUMMER,
        _ => &WINTER,
    };
    let (commodity, weight, tag) = random.one(products);
    let weight = between(random, weight);
    let form = match number % 25 {
        24 => Form::Organiser,
        rest if rest % 5 == 3 => Form::Carrier,
        _ => Form::Batch,
    };
    let is_past = date < today;
    let is_sent = form == Form::Organiser && !number.is_multiple_of(3);
    let is_assigned = form != Form::Organiser || is_sent;
    let to_driver = number % 25 == 3 || (!is_past && number.is_multiple_of(4));
    let driver = random.one(&DRIVERS);
    // A few loads were delivered without proof, or not at all.
    let is_proven = is_past && is_assigned && !random.percent(6);
    let vehicle = format!(
        "{}{} {}",
        haulier.letters,
        random.one(&["19", "21", "70", "72"]),
        random.one(&["KLM", "BTF", "HJN", "RWE"])
    );
    let proof = Proof {
        net: weight.saturating_sub(15) + between(random, (0, 25)),
        tare: between(random, (1420, 1560)),
        ticket: format!("WB-{}", 40_000 + number),
        vehicle,
        captured_at: format!("{date}T{:02}:{:02}:00Z", 7 + random.below(11), random.below(60)),
        has_photo: random.percent(70),
    };
    LoadPlan {
        reference: format!("{}-{}", organiser.letters, 1_000 + number),
        form,
        organiser: organiser.person,
        haulier: haulier.person,
        commodity,
        weight,
        date,
        pickup,
        dropoff,
        tag,
        is_sent,
        driver: (to_driver && is_assigned).then_some(driver),
        proof: is_proven.then_some(proof),
        is_accepted: is_past && form == Form::Carrier && random.percent(70),
    }
}

/// The indices of points, the nearest to a point first.
fn nearest((lat, lon): (f64, f64), points: &[(f64, f64)]) -> Vec<usize> {
    // At these latitudes a degree of longitude is about 0.6 times as long as one of latitude.
    let distance = |index: &usize| (points[*index].0 - lat).hypot(0.6 * (points[*index].1 - lon));
    let mut indices: Vec<_> = (0..points.len()).collect();
    indices.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    indices
}

/// A number in `low..=high`.
fn between(random: &mut Random, (low, high): (u32, u32)) -> u32 {
    low + u32::try_from(random.below((high - low + 1) as usize)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_in_all_states_over_a_year_and_the_same_in_each_run() {
        let today = NaiveDate::from_ymd_opt(2026, 3, 1).unwrap();
        let all = || {
            (1..=COUNT)
                .map(|number| plan(number, &[(51.5, -2.7), (53.4, -3.0), (53.3, -6.2)], today))
                .collect::<Vec<_>>()
        };
        assert_eq!(format!("{:?}", all()), format!("{:?}", all()));
        let all = all();
        let count = |is: &dyn Fn(&LoadPlan) -> bool| all.iter().filter(|load| is(load)).count();
        for form in [Form::Batch, Form::Carrier, Form::Organiser] {
            assert!(count(&|load| load.form == form) >= 10, "{form:?}");
        }
        assert!(count(&|load| load.proof.is_some()) > 200);
        assert!(count(&|load| load.date > today) > 5, "due");
        assert!(count(&|load| load.date < today && load.proof.is_none()) > 5, "overdue");
        assert!(count(&|load| load.driver.is_some() && load.proof.is_none()) > 0, "with a driver");
        assert!((5..30).contains(&count(&|load| load.is_sent || load.driver.is_some())), "notifications");
        assert!(count(&|load| load.form == Form::Carrier && load.proof.is_some() && !load.is_accepted) > 3);
        assert!(count(&|load| load.organiser.org == "penybont-farm") > 20);
        let references: std::collections::BTreeSet<_> = all.iter().map(|load| &load.reference).collect();
        assert_eq!(references.len(), COUNT);
        assert_eq!(
            (all[0].date, all[COUNT - 1].date),
            (today - TimeDelta::days(364), today + TimeDelta::days(14))
        );
    }
}
