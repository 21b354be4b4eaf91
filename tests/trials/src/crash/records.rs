//! What clients record of their writes: the request before it is sent, and the state after the response.

use std::ops::Range;

use serde_json::{Value, json};
use testkit::market;
use testkit::processes::http::{Body, Form};

use crate::crash::client::{Answer, Caller, LIVESTOCK, LOGISTICS, Request, SYSTEM};
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

    /// The writes that were sent until a time, as far as their outcomes were known then.
    pub fn at(&self, time: usize) -> Self {
        let listings = self.listings.iter().filter_map(|listing| listing.at(time));
        Self {
            loads: self.loads.iter().filter_map(|load| load.at(time)).collect(),
            batches: self.batches.iter().filter_map(|batch| batch.at(time)).collect(),
            files: self.files.iter().filter_map(|file| file.at(time)).collect(),
            listings: listings.collect(),
        }
    }

    /// The times of all responses that acknowledged a write.
    pub fn acknowledgements(&self) -> Vec<usize> {
        let mut writes: Vec<&Write> = self.batches.iter().map(|batch| &batch.write).collect();
        for load in &self.loads {
            writes.push(&load.create);
            writes.extend(load.proof.iter().map(|proof| &proof.write));
            writes.extend(load.sends.iter().map(|send| &send.write));
        }
        for file in &self.files {
            writes.push(&file.upload);
            writes.extend([&file.archive, &file.share].into_iter().flatten());
        }
        for listing in &self.listings {
            writes.push(&listing.create);
            writes.extend(listing.transitions.iter().map(|(_, write)| write));
            writes.extend([&listing.wish, &listing.report].into_iter().flatten());
        }
        writes.iter().filter(|write| write.id().is_some()).map(|write| write.span.end).collect()
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
#[derive(Debug, Clone)]
pub struct Write {
    pub key: Option<String>,
    pub state: WriteState,
    /// Times of the request and of the response by the clock of the endpoints.
    pub span: Range<usize>,
}

impl Write {
    /// A write that is not sent yet.
    pub fn new(key: Option<String>) -> Self {
        Self { key, state: Unknown, span: 0..0 }
    }

    /// Records what a response proves.
    pub fn set(&mut self, answer: &Answer) {
        (self.state, self.span) = (answer.state.clone(), answer.span.clone());
    }

    /// A write without a key, after its response.
    pub fn answered(answer: &Answer) -> Self {
        Self { key: None, state: answer.state.clone(), span: answer.span.clone() }
    }

    /// Whether its outcome is unknown.
    pub fn is_unknown(&self) -> bool {
        self.state == Unknown
    }

    /// What was known of it at a time, or `None` if it was not sent yet.
    fn at(&self, time: usize) -> Option<Self> {
        let state = if time < self.span.end { Unknown } else { self.state.clone() };
        (self.span.start <= time).then(|| Self { state, ..self.clone() })
    }

    /// Id of an acknowledged write.
    pub fn id(&self) -> Option<&str> {
        self.state.id()
    }
}

/// A load and the writes that changed it.
#[derive(Debug, Clone)]
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

    fn at(&self, time: usize) -> Option<Self> {
        let create = self.create.at(time)?;
        let proof = |proof: &ProofRecord| Some(ProofRecord { write: proof.write.at(time)?, ..proof.clone() });
        let send = |send: &SendRecord| Some(SendRecord { write: send.write.at(time)?, ..send.clone() });
        let is_later = create.is_unknown() || self.proof.as_ref().is_some_and(|p| p.write.span.end > time);
        Some(Self {
            create,
            // The response to a later proof is not that of the load as it was.
            response: if is_later { Value::Null } else { self.response.clone() },
            proof: self.proof.as_ref().and_then(proof),
            sends: self.sends.iter().filter_map(send).collect(),
            ..self.clone()
        })
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
#[derive(Debug, Clone)]
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
}

/// A load sent to a carrier or a driver.
#[derive(Debug, Clone)]
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
#[derive(Debug, Clone)]
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
    fn at(&self, time: usize) -> Option<Self> {
        let write = self.write.at(time)?;
        let ids = if write.id().is_some() { self.ids.clone() } else { Vec::new() };
        Some(Self { write, ids, ..self.clone() })
    }

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
#[derive(Debug, Clone)]
pub struct ListingRecord {
    pub fixture: ListingFixture,
    pub create: Write,
    /// Changes of its status in order, by the new status.
    pub transitions: Vec<(&'static str, Write)>,
    /// It was put on the wishlist.
    pub wish: Option<Write>,
    /// It was reported by the partner.
    pub report: Option<Write>,
}

impl ListingRecord {
    fn at(&self, time: usize) -> Option<Self> {
        let at = |write: &Option<Write>| write.as_ref().and_then(|write| write.at(time));
        let transition = |(status, write): &(&'static str, Write)| Some((*status, write.at(time)?));
        Some(Self {
            create: self.create.at(time)?,
            transitions: self.transitions.iter().filter_map(transition).collect(),
            wish: at(&self.wish),
            report: at(&self.report),
            ..self.clone()
        })
    }

    /// The request that creates it.
    pub fn request(&self) -> Request<'_> {
        let ListingFixture { category, body, .. } = &self.fixture;
        let path = format!("/v1/listings/{category}");
        Request::post(LIVESTOCK, path, self.create.key.as_deref(), Body::Json(body.clone()))
    }

    /// The acknowledged status, and the one that a transition with an unknown outcome may have led to.
    pub fn status(&self) -> (&'static str, Option<&'static str>) {
        let (mut acknowledged, mut possible) = (self.fixture.status(), None);
        for (status, write) in &self.transitions {
            match write.state {
                Acknowledged(_) => acknowledged = status,
                Unknown => possible = Some(*status),
                Refused => {}
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
#[derive(Debug, Clone)]
pub struct FileRecord {
    pub name: String,
    /// Seed of its content.
    pub seed: usize,
    /// Size in bytes.
    pub bytes: usize,
    /// SHA-256 of its content in hex.
    pub hash: String,
    pub upload: Write,
    pub archive: Option<Write>,
    /// It was shared with the partner.
    pub share: Option<Write>,
}

impl FileRecord {
    fn at(&self, time: usize) -> Option<Self> {
        let at = |write: &Option<Write>| write.as_ref().and_then(|write| write.at(time));
        let upload = self.upload.at(time)?;
        Some(Self { upload, archive: at(&self.archive), share: at(&self.share), ..self.clone() })
    }

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
