//! What clients record of their writes: the request before it is sent, and the state after the response.

use serde_json::{Value, json};
use testkit::market;
use testkit::processes::http::{Body, Form};

use crate::crash::client::{Caller, LIVESTOCK, LOGISTICS, Request, SYSTEM};
use crate::crash::fixture::{ListingFixture, LoadFixture, PARTNER, ProofFixture, batch_csv, content};
use crate::ledger::WriteState::{self, Acknowledged, Refused, Unknown};

/// All writes of a client, or of a round.
#[derive(Debug, Default)]
pub struct Records {
    pub loads: Vec<LoadRecord>,
    pub batches: Vec<BatchRecord>,
    pub files: Vec<FileRecord>,
    pub listings: Vec<ListingRecord>,
}

impl Records {
    /// Number of single creates of loads and listings.
    pub fn creates(&self) -> usize {
        self.loads.len() + self.listings.len()
    }

    /// Adds the writes of another client.
    pub fn extend(&mut self, other: Self) {
        self.loads.extend(other.loads);
        self.batches.extend(other.batches);
        self.files.extend(other.files);
        self.listings.extend(other.listings);
    }
}

/// A write that may have an idempotency key.
#[derive(Debug)]
pub struct Write {
    pub key: Option<String>,
    pub state: WriteState,
}

impl Write {
    /// Id of an acknowledged write.
    pub fn id(&self) -> Option<&str> {
        self.state.id()
    }
}

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
        let form = market::batch_csv(batch_csv(self.loads()));
        Request::post(LOGISTICS, "/v1/loads/batch", self.write.key.as_deref(), Body::Form(form))
    }

    /// The ids of the loads in a response.
    pub fn response_ids(response: &Value) -> Vec<String> {
        let ids = response["ids"].as_array().into_iter().flatten();
        ids.filter_map(|id| id.as_str().map(str::to_owned)).collect()
    }
}

/// A listing and the writes that changed it.
#[derive(Debug)]
pub struct ListingRecord {
    pub fixture: ListingFixture,
    pub create: Write,
    /// Changes of its status in order, by the new status.
    pub transitions: Vec<(&'static str, WriteState)>,
    /// It was put on the wishlist.
    pub wish: Option<WriteState>,
    /// It was reported by the partner.
    pub report: Option<WriteState>,
}

impl ListingRecord {
    /// The request that creates it.
    pub fn request(&self) -> Request<'_> {
        let ListingFixture { category, body, .. } = &self.fixture;
        let path = format!("/v1/listings/{category}");
        Request::post(LIVESTOCK, path, self.create.key.as_deref(), Body::Json(body.clone()))
    }

    /// The acknowledged status, and the one that a transition with an unknown outcome may have led to.
    pub fn status(&self) -> (&'static str, Option<&'static str>) {
        let (mut acknowledged, mut possible) = (self.fixture.status(), None);
        for (status, state) in &self.transitions {
            match state {
                WriteState::Acknowledged(_) => acknowledged = status,
                WriteState::Unknown => possible = Some(*status),
                WriteState::Refused => {}
            }
        }
        (acknowledged, possible)
    }

    /// The request that publishes or closes a listing.
    pub fn transition_request(id: &str, status: &str) -> Request<'static> {
        let (verb, body) = match status {
            "active" => ("publish", Body::Empty),
            _ => ("close", Body::Json(json!({"status": status}))),
        };
        Request::post(LIVESTOCK, format!("/v1/listings/{id}/{verb}"), None, body)
    }

    /// The request that puts a listing on the wishlist.
    pub fn wish_request(id: &str) -> Request<'static> {
        let path = format!("/v1/listings/{id}/wishlist");
        Request { method: "PUT", ..Request::post(LIVESTOCK, path, None, Body::Empty) }
    }

    /// The request by which the partner reports this listing. Its message is the marker of the listing.
    pub fn report_request(&self, id: &str) -> Request<'static> {
        let body = Body::Json(json!({"reason": "other", "message": self.fixture.marker}));
        let path = format!("/v1/listings/{id}/report");
        Request { caller: Caller::Partner, ..Request::post(LIVESTOCK, path, None, body) }
    }
}

/// A file and the writes that changed it.
#[derive(Debug)]
pub struct FileRecord {
    pub name: String,
    /// Seed of its content.
    pub seed: usize,
    /// Size in bytes.
    pub bytes: usize,
    /// SHA-256 of its content in hex.
    pub hash: String,
    pub upload: Write,
    pub archive: Option<WriteState>,
    /// It was shared with the partner.
    pub share: Option<WriteState>,
}

impl FileRecord {
    /// The request that uploads it.
    pub fn request(&self) -> Request<'_> {
        let form = Form {
            file_name: "any.bin",
            media_type: "application/octet-stream",
            ..market::upload(&self.name, content(self.seed, self.bytes))
        };
        Request::post(SYSTEM, "/v1/files", self.upload.key.as_deref(), Body::Form(form))
    }

    /// The request that archives a file.
    pub fn archive_request(id: &str) -> Request<'static> {
        let path = format!("/v1/files/{id}");
        Request { method: "DELETE", ..Request::post(SYSTEM, path, None, Body::Empty) }
    }

    /// The request that shares a file with the partner.
    pub fn share_request(id: &str) -> Request<'static> {
        let body = json!({"ids": [id], "shareWith": [PARTNER.id]});
        Request::post(SYSTEM, "/v1/files/resolve", None, Body::Json(body))
    }
}
