//! Loads, their proofs of delivery and notifications, and batches of loads.

use serde_json::{Value, json};
use stack::http::Body;
use stack::multipart::Form;

use super::Write;
use crate::crash::client::{LOGISTICS, Request};
use crate::crash::fixture::{LoadFixture, PARTNER, ProofFixture, batch_csv};
use crate::ledger::WriteState::{self, Acknowledged, Refused, Unknown};

/// A load and the writes that changed it.
#[derive(Debug)]
pub struct LoadRecord {
    pub fixture: LoadFixture,
    /// File ids.
    pub files: Vec<String>,
    pub create: Write,
    /// The load in the last response that contained it.
    pub response: Value,
    pub proof: Option<ProofRecord>,
    pub sends: Vec<SendRecord>,
}

impl LoadRecord {
    /// The request that creates it.
    pub fn request(&self) -> Request<'_> {
        let (path, body) = self.fixture.request(&self.files);
        Request::post(LOGISTICS, path, self.create.key.as_deref(), Body::Json(body))
    }

    /// Ids of all its files.
    pub fn all_files(&self) -> impl Iterator<Item = &String> {
        self.files.iter().chain(self.proof.as_ref().map(|proof| &proof.fixture.file))
    }

    /// All rows that an export may contain for it: with and without each write whose outcome is unknown.
    pub fn possible_rows(&self) -> Vec<String> {
        let proofs = match self.proof.as_ref().map(|proof| (&proof.fixture, &proof.write.state)) {
            None | Some((_, Refused)) => vec![None],
            Some((proof, Unknown)) => vec![None, Some(proof)],
            Some((proof, Acknowledged(_))) => vec![Some(proof)],
        };
        let carriers: Vec<_> =
            self.sends.iter().filter(|send| send.to_carrier).map(|send| &send.write.state).collect();
        let is_possible = |has_carrier: &bool| {
            if carriers.iter().any(|state| matches!(state, Acknowledged(_))) {
                *has_carrier
            } else {
                !has_carrier || carriers.contains(&&Unknown)
            }
        };
        let rows = |has_carrier| {
            proofs.iter().map(move |proof| self.fixture.export_row(has_carrier, *proof, &self.files))
        };
        [false, true].into_iter().filter(is_possible).flat_map(rows).collect()
    }
}

/// A proof of delivery.
#[derive(Debug)]
pub struct ProofRecord {
    pub fixture: ProofFixture,
    pub write: Write,
}

impl ProofRecord {
    /// The request that creates it for a load.
    pub fn request(&self, load: &str) -> Request<'_> {
        let path = format!("/v1/loads/{load}/proof-of-delivery");
        Request::post(LOGISTICS, path, self.write.key.as_deref(), Body::Json(self.fixture.json()))
    }

    /// Whether its outcome is known.
    pub fn is_known(&self) -> bool {
        self.write.state != WriteState::Unknown
    }
}

/// A load sent to a carrier or a driver.
#[derive(Debug)]
pub struct SendRecord {
    pub to_carrier: bool,
    /// Id of the carrier or driver, unique among the sends of a load.
    pub recipient: String,
    pub write: Write,
}

impl SendRecord {
    /// The request that sends a load.
    pub fn request(&self, load: &str) -> Request<'_> {
        let (role, id) = if self.to_carrier { ("carrier", "carrierId") } else { ("driver", "driverId") };
        let body = json!({"loadId": load, id: self.recipient, "carrierName": PARTNER.name});
        let path = format!("/v1/loads/send-to-{role}");
        Request::post(LOGISTICS, path, self.write.key.as_deref(), Body::Json(body))
    }
}

/// A batch of loads with consecutive numbers.
#[derive(Debug)]
pub struct BatchRecord {
    /// Prefix of the references, which is unique.
    pub name: String,
    pub first_number: usize,
    pub rows: usize,
    pub write: Write,
    /// Ids of its loads, once they are known.
    pub ids: Vec<String>,
}

impl BatchRecord {
    /// Its loads.
    pub fn loads(&self) -> impl Iterator<Item = LoadFixture> + '_ {
        (0..self.rows)
            .map(|row| LoadFixture::new(format!("{}-{row:05}", self.name), self.first_number + row, false))
    }

    /// The request that imports it.
    pub fn request(&self) -> Request<'_> {
        let form = Form {
            fields: Vec::new(),
            file_name: "loads.csv",
            media_type: "text/csv",
            content: batch_csv(self.loads()).into_bytes().into(),
        };
        Request::post(LOGISTICS, "/v1/loads/batch", self.write.key.as_deref(), Body::Form(form))
    }

    /// The ids of the loads in a response.
    pub fn response_ids(response: &Value) -> Vec<String> {
        let ids = response["ids"].as_array().into_iter().flatten();
        ids.filter_map(|id| id.as_str().map(str::to_owned)).collect()
    }
}
