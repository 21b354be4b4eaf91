//! The loads, listings and files that clients write. Each is generated from a number, so it can be generated again.

use std::fmt::Write;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use testkit::market::listings;
use testkit::market::random::Random;

/// An organisation, as loads name it.
#[derive(Debug)]
pub struct Organisation {
    pub id: &'static str,
    pub name: &'static str,
}

/// Owns everything that is written.
pub const OWNER: Organisation = Organisation { id: "org-0", name: "Own Grain" };
/// Has access to what the owner shares.
pub const PARTNER: Organisation = Organisation { id: "org-1", name: "Other Haulage" };

/// Incompressible content of a file.
pub fn content(seed: usize, bytes: usize) -> Vec<u8> {
    let mut random = Random::of(seed);
    let words = (0..bytes.div_ceil(8)).flat_map(|_| {
        random.unit();
        random.0.to_le_bytes()
    });
    words.take(bytes).collect()
}

/// SHA-256 in hex.
pub fn sha256(content: &[u8]) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(content) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

const COMMODITIES: [(usize, &str); 4] =
    [(1, "Feed Wheat"), (2, "Milling Wheat"), (3, "Group 1 Milling Wheat"), (4, "Group 2 Milling Wheat")];
const POSTCODES: [&str; 4] = ["HR4 9AR", "SY8 1EG", "HR6 8QW", "LD8 2AF"];
const BATCH_HEADER: &str = "reference,deliveryDateISO,organiserId,organiserName,commodityId,weight,\
                            vehicleRegistration,ticketNumber,pickupPostcode,dropoffPostcode,tags\r\n";

/// A load.
#[derive(Debug, Clone)]
pub struct LoadFixture {
    pub reference: String,
    /// The owner carries it for the partner. Otherwise the owner organises it, and it has no carrier yet.
    pub is_carried: bool,
    commodity: (usize, &'static str),
    date: String,
    /// Tonnes.
    weight: f64,
    registration: String,
    ticket: String,
    postcodes: [&'static str; 2],
    tag: &'static str,
}

/// A proof of delivery.
#[derive(Debug, Clone)]
pub struct ProofFixture {
    /// Tonnes.
    pub net_weight: f64,
    pub ticket: String,
    pub registration: &'static str,
    /// File id.
    pub file: String,
}

impl LoadFixture {
    /// The load with this number.
    pub fn new(reference: String, number: usize, is_carried: bool) -> Self {
        let random = &mut Random::of(number);
        let [year, month, day] = [24 + random.below(3), 1 + random.below(12), 1 + random.below(28)];
        Self {
            is_carried,
            commodity: random.one(&COMMODITIES),
            date: format!("20{year}-{month:02}-{day:02}"),
            weight: random.between((1.0, 40.0)).floor() + 0.5,
            registration: format!("VX{:02}KLM", random.below(75)),
            ticket: format!("T-{reference}"),
            postcodes: [random.one(&POSTCODES), random.one(&POSTCODES)],
            tag: random.one(&["harvest", "contract", "spot"]),
            reference,
        }
    }

    /// Path and body of the request that creates it with these files.
    pub fn request(&self, files: &[String]) -> (&'static str, Value) {
        let files: Vec<_> = files.iter().map(|id| json!({"id": id})).collect();
        let mut body = json!({
            "commodityId": self.commodity.0, "reference": self.reference, "deliveryDateISO": self.date,
            "weight": self.weight, "weightNet": null, "files": files, "tags": [self.tag],
            "ticketNumber": self.ticket, "vehicleRegistration": self.registration,
            "pickupPostcode": self.postcodes[0], "dropoffPostcode": self.postcodes[1],
        });
        let (path, id, name) = if self.is_carried {
            body["organisationId"] = json!(PARTNER.id);
            body["organisationName"] = json!(PARTNER.name);
            ("/v1/loads/carrier", "carrierId", "carrierName")
        } else {
            ("/v1/loads/organiser", "organiserId", "organiserName")
        };
        body[id] = json!(OWNER.id);
        body[name] = json!(OWNER.name);
        (path, body)
    }

    /// Its row of an export, without the id (first) and the time of completion (last). `has_carrier`: it was sent to
    /// the partner as its carrier.
    pub fn export_row(&self, has_carrier: bool, proof: Option<&ProofFixture>, files: &[String]) -> String {
        let [owner, partner] = [OWNER, PARTNER].map(|party| format!("{},{}", party.id, party.name));
        let (organiser, carrier) = match (self.is_carried, has_carrier) {
            (true, _) => (partner, owner),
            (false, true) => (owner, partner),
            (false, false) => (owner, ",".to_owned()),
        };
        let (status, net_weight, registration, ticket) = match proof {
            Some(proof) => ("completed", proof.net_weight.to_string(), proof.registration, &proof.ticket),
            None => ("upcoming", String::new(), self.registration.as_str(), &self.ticket),
        };
        let files: Vec<_> = files.iter().chain(proof.map(|proof| &proof.file)).map(String::as_str).collect();
        let Self { reference, commodity: (commodity, name), date, weight, postcodes, tag, .. } = self;
        let ([pickup, dropoff], files) = (postcodes, files.join(";"));
        format!(
            "{reference},{status},{date}T00:00:00.000Z,{organiser},{carrier},{commodity},{name},{weight},\
             {net_weight},tonne,{registration},{ticket},{pickup},{dropoff},{tag},{files}"
        )
    }
}

impl ProofFixture {
    /// Body of the request that creates it.
    pub fn json(&self) -> Value {
        json!({
            "weightNet": self.net_weight, "ticketNumber": self.ticket, "vehicleRegistration": self.registration,
            "files": [{"id": self.file}],
        })
    }
}

/// The table of a batch of loads that the owner organises.
pub fn batch_csv(loads: impl Iterator<Item = LoadFixture>) -> String {
    let mut csv = BATCH_HEADER.to_owned();
    for load in loads {
        let LoadFixture { reference, commodity, date, weight, registration, ticket, postcodes, tag, .. } =
            load;
        let [pickup, dropoff] = postcodes;
        let _ = write!(
            csv,
            "{reference},{date},{},{},{},{weight},{registration},{ticket},{pickup},{dropoff},{tag}\r\n",
            OWNER.id, OWNER.name, commodity.0
        );
    }
    csv
}

/// A listing.
#[derive(Debug, Clone)]
pub struct ListingFixture {
    /// Its description, which is unique.
    pub marker: String,
    /// Last segment of the path that creates it.
    pub category: &'static str,
    /// Body of the request that creates it.
    pub body: Value,
    /// File id.
    pub file: Option<String>,
}

impl ListingFixture {
    /// The listing with this number.
    pub fn new(marker: String, number: usize, file: Option<String>) -> Self {
        let listings::GeneratedListing { path: category, mut body, .. } = listings::listing(number);
        body["isDraft"] = json!(Random::of(number).percent(30));
        body["description"] = json!(marker);
        body["files"] = json!(file.as_ref().map(|id| [json!({"id": id})]));
        for degrees in body["location"]["coordinates"].as_object_mut().into_iter().flatten() {
            // The services do not keep further digits.
            *degrees.1 = json!(degrees.1.as_f64().map(|degrees| (degrees * 10_000.0).round() / 10_000.0));
        }
        Self { marker, category, body, file }
    }

    /// The status that it is created with.
    pub fn status(&self) -> &'static str {
        if self.body["isDraft"] == true { "draft" } else { "active" }
    }
}
