//! Loads, listings and files by a number each: what a client sent can be made again, to be sent or looked for once
//! more.

use std::fmt::Write;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::books::{Load, Proof};
use super::line::{ORGANISATIONS, OTHER, OWN};
use crate::random::Random;

/// The names of the organisations.
pub const NAMES: [&str; 2] = ["Own Grain", "Other Haulage"];
const COMMODITIES: [(usize, &str); 4] =
    [(1, "Feed Wheat"), (2, "Milling Wheat"), (3, "Group 1 Milling Wheat"), (4, "Group 2 Milling Wheat")];
const POSTCODES: [&str; 4] = ["HR4 9AR", "SY8 1EG", "HR6 8QW", "LD8 2AF"];
const HEADER: &str = "reference,deliveryDateISO,organiserId,organiserName,commodityId,weight,vehicleRegistration,\
                      ticketNumber,pickupPostcode,dropoffPostcode,tags\r\n";

/// A load as it is sent.
#[derive(Debug)]
pub struct Goods {
    pub reference: String,
    /// By its carrier, not by its organiser.
    carried: bool,
    commodity: (usize, &'static str),
    date: String,
    weight: String,
    registration: String,
    ticket: String,
    postcodes: [&'static str; 2],
    tag: &'static str,
}

impl Goods {
    /// Those with this number.
    pub fn of(reference: String, number: usize, carried: bool) -> Self {
        let random = &mut Random::of(number);
        Self {
            carried,
            commodity: random.one(&COMMODITIES),
            date: format!(
                "20{}-{:02}-{:02}",
                24 + random.below(3),
                1 + random.below(12),
                1 + random.below(28)
            ),
            weight: format!("{}.5", 1 + random.below(40)),
            registration: format!("VX{:02}KLM", random.below(75)),
            ticket: format!("T-{reference}"),
            postcodes: [random.one(&POSTCODES), random.one(&POSTCODES)],
            tag: random.one(&["harvest", "contract", "spot"]),
            reference,
        }
    }

    /// Whether they can be sent to a carrier who is not theirs yet.
    pub fn has_no_carrier(&self) -> bool {
        !self.carried
    }

    /// The form that they are created by, and its body.
    pub fn form(&self, files: &[String]) -> (&'static str, Value) {
        let files: Vec<_> = files.iter().map(|id| json!({"id": id})).collect();
        let mut body = json!({
            "commodityId": self.commodity.0, "reference": self.reference, "deliveryDateISO": self.date,
            "weight": self.weight.parse::<f64>().unwrap_or_default(), "weightNet": null, "files": files,
            "ticketNumber": self.ticket, "vehicleRegistration": self.registration, "tags": [self.tag],
            "pickupPostcode": self.postcodes[0], "dropoffPostcode": self.postcodes[1],
        });
        let (form, id, name) = if self.carried {
            body["organisationId"] = json!(ORGANISATIONS[OTHER]);
            body["organisationName"] = json!(NAMES[OTHER]);
            ("carrier", "carrierId", "carrierName")
        } else {
            ("organiser", "organiserId", "organiserName")
        };
        body[id] = json!(ORGANISATIONS[OWN]);
        body[name] = json!(NAMES[OWN]);
        (form, body)
    }

    /// The line that an export has of them, without the id before it and the time of completion after it: with a
    /// carrier or without, with a proof or without.
    pub fn line(&self, carrier: bool, proof: Option<&Proof>, files: &[String]) -> String {
        let party = |who: usize| format!("{},{}", ORGANISATIONS[who], NAMES[who]);
        let organiser = party(if self.carried { OTHER } else { OWN });
        let carrier = match (self.carried, carrier) {
            (true, _) => party(OWN),
            (false, true) => party(OTHER),
            (false, false) => ",".to_owned(),
        };
        let (status, net, registration, ticket) = match proof {
            Some(proof) => ("completed", proof.net.as_str(), &proof.registration, &proof.ticket),
            None => ("upcoming", "", &self.registration, &self.ticket),
        };
        let files: Vec<_> = files.iter().chain(proof.map(|proof| &proof.file)).map(String::as_str).collect();
        let (reference, date, weight, tag) = (&self.reference, &self.date, &self.weight, self.tag);
        let ((number, name), [pickup, dropoff], files) = (self.commodity, self.postcodes, files.join(";"));
        format!(
            "{reference},{status},{date}T00:00:00.000Z,{organiser},{carrier},{number},{name},{weight},{net},tonne,\
             {registration},{ticket},{pickup},{dropoff},{tag},{files}"
        )
    }
}

/// All lines that an export may have of a load, as far as is known.
pub fn lines(load: &Load) -> Vec<String> {
    use super::line::State::{Done, Doubt, Not};
    let proofs = match load.proof.as_ref().map(|proof| (proof, &proof.done.state)) {
        None | Some((_, Not)) => vec![None],
        Some((proof, Doubt)) => vec![None, Some(proof)],
        Some((proof, Done(_))) => vec![Some(proof)],
    };
    let carriers: Vec<_> =
        load.sent.iter().filter(|sent| sent.to_carrier).map(|sent| &sent.done.state).collect();
    let certain = carriers.iter().any(|state| matches!(state, Done(_)));
    let doubtful = carriers.contains(&&Doubt);
    let may = |carrier: &bool| if certain { *carrier } else { !carrier || doubtful };
    let of = |carrier| proofs.iter().map(move |proof| load.goods.line(carrier, *proof, &load.files));
    [false, true].into_iter().filter(may).flat_map(of).collect()
}

/// A batch of loads.
pub fn csv(goods: impl Iterator<Item = Goods>) -> String {
    let mut csv = HEADER.to_owned();
    for goods in goods {
        let Goods { reference, date, commodity, weight, registration, ticket, postcodes, tag, .. } = goods;
        let ([id, ..], [name, ..], [pickup, dropoff]) = (ORGANISATIONS, NAMES, postcodes);
        let _ = write!(
            csv,
            "{reference},{date},{id},{name},{},{weight},{registration},{ticket},{pickup},{dropoff},{tag}\r\n",
            commodity.0
        );
    }
    csv
}

/// A listing with this description, and a file.
pub fn listing(mark: &str, number: usize, file: Option<&str>) -> (&'static str, Value) {
    let random = &mut Random::of(number);
    let (path, category) = random.one(&[("feed", 4), ("bedding", 5), ("cattle", 2), ("sheep", 1)]);
    let mut body = json!({
        "type": random.one(&["selling", "buying"]), "isDraft": random.percent(30), "categoryIds": [category],
        "location": {"address": {"city": "Ludlow", "postcode": "SY8 1EG", "countryISO": "GB"},
            "coordinates": {"lat": degrees(random, (50.0, 58.0)), "lon": degrees(random, (-5.0, 1.0))}},
        "price": {"type": "fixed", "pricePerUnit": {"amount": 20 + random.below(3000), "currency": "GBP"}},
        "files": file.map(|id| [json!({"id": id})]), "description": mark, "tags": [random.one(&["spring", "autumn"])],
    });
    if category < 3 {
        body["properties"] =
            json!({"breed": "Texel", "quantity": 1 + random.below(90), "minAge": random.below(20)});
    }
    (path, body)
}

/// To some metres: of more digits the last may be read otherwise.
fn degrees(random: &mut Random, range: (f64, f64)) -> f64 {
    (random.between(range) * 10_000.0).round() / 10_000.0
}

/// Bytes that no compression makes fewer.
pub fn content(seed: usize, bytes: usize) -> Vec<u8> {
    let mut word = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let words = (0..bytes.div_ceil(8)).flat_map(|_| {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        word.to_le_bytes()
    });
    words.take(bytes).collect()
}

/// The SHA-256 of a content in hex.
pub fn hash(content: &[u8]) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(content) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
