//! Objects of every kind that exist before the backup, and the responses that show them.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use testkit::market::{batch_csv, organised_load, sheep_listing, upload};
use testkit::processes::http::{Body, Response};

use crate::restore::deployment::{Deployment, LIVESTOCK, LOGISTICS, SYSTEM};

/// The organisation that owns the objects.
pub const OWNER: &str = "org-known";
/// An organisation that has access to some of them.
const PARTNER: &str = "haul";
const TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of a response body in an error message.
const MAX_SHOWN: usize = 600;

/// The recorded responses and writes.
pub struct Snapshot {
    reads: Vec<Read>,
    writes: Vec<KeyedWrite>,
    /// Ids of notifications that were delivered before the backup.
    pub delivered: Vec<String>,
    /// Ids of notifications that were pending at the backup.
    pub pending: Vec<String>,
    /// Ids of active listings.
    pub active_listings: Vec<String>,
}

/// A GET request and its response.
struct Read {
    service: usize,
    path: String,
    org: Option<&'static str>,
    result: ReadResult,
}

/// The parts of a response that a restore must not change.
#[derive(Default, PartialEq)]
struct ReadResult {
    status: u16,
    /// `X-Total-Count`.
    total: String,
    /// Empty for an error, which contains the id of its request.
    body: Vec<u8>,
}

/// A write with an idempotency key, and the id in its response.
struct KeyedWrite {
    service: usize,
    path: &'static str,
    body: Body,
    key: String,
    id: String,
}

impl Snapshot {
    /// Creates the objects and records the responses.
    pub fn create(deployment: &Deployment<'_>) -> Result<Self> {
        let mut snapshot = Self {
            reads: Vec::new(),
            writes: Vec::new(),
            delivered: Vec::new(),
            pending: Vec::new(),
            active_listings: Vec::new(),
        };
        snapshot.seed(deployment)?;
        Ok(snapshot)
    }

    /// Compares all responses with the recorded ones, byte by byte. Returns their number.
    pub fn compare(&self, deployment: &Deployment<'_>) -> Result<usize> {
        for read in &self.reads {
            let result = Self::read(deployment, read.service, &read.path, read.org)?;
            let (path, before, after) = (&read.path, read.result.describe(), result.describe());
            ensure!(read.result == result, "GET {path} returned {before} and now returns {after}");
        }
        Ok(self.reads.len())
    }

    /// Repeats all writes under their keys: they must be replayed. Returns their number.
    pub fn replay(&self, deployment: &Deployment<'_>) -> Result<usize> {
        for KeyedWrite { service, path, body, key, id } in &self.writes {
            let response = Self::post(deployment, *service, path, body, key)?;
            let Response { status, json, .. } = &response;
            let is_replayed = response.header("idempotency-replayed") == "true" && json["id"] == id.as_str();
            ensure!(is_replayed, "{path} with {key} returned {status} {json} instead of {id} again");
        }
        Ok(self.writes.len())
    }

    /// Creates an object with a key and returns its id.
    fn write(
        &mut self,
        deployment: &Deployment<'_>,
        service: usize,
        path: &'static str,
        body: Body,
    ) -> Result<String> {
        let key = format!("key-{}", self.writes.len());
        let json = Self::post(deployment, service, path, &body, &key)?.json;
        let id = json["id"].as_str().with_context(|| format!("{path} returned {json}"))?.to_owned();
        self.writes.push(KeyedWrite { service, path, body, key, id: id.clone() });
        Ok(id)
    }

    fn post(
        deployment: &Deployment<'_>,
        service: usize,
        path: &str,
        body: &Body,
        key: &str,
    ) -> Result<Response> {
        deployment.services[service].call("POST", path, &deployment.token(Some(OWNER)), Some(key), body)
    }

    /// Records the response to a GET request.
    fn record(
        &mut self,
        deployment: &Deployment<'_>,
        service: usize,
        path: impl Into<String>,
        org: Option<&'static str>,
    ) -> Result<()> {
        let path = path.into();
        let result = Self::read(deployment, service, &path, org)?;
        self.reads.push(Read { service, path, org, result });
        Ok(())
    }

    fn read(
        deployment: &Deployment<'_>,
        service: usize,
        path: &str,
        org: Option<&str>,
    ) -> Result<ReadResult> {
        let response =
            deployment.services[service].call("GET", path, &deployment.token(org), None, &Body::Empty)?;
        let total = response.header("x-total-count").to_owned();
        let body = if response.status < 300 { response.bytes } else { Vec::new() };
        Ok(ReadResult { status: response.status, total, body })
    }
}

impl ReadResult {
    fn describe(&self) -> String {
        let body = String::from_utf8_lossy(&self.body[..self.body.len().min(MAX_SHOWN)]);
        format!("{} {} {body}", self.status, self.total)
    }
}

/// Number of loads, listings and files.
const COUNT: usize = 12;
/// Notifications of drivers: those before the second number are delivered, the others are pending.
const SENT: std::ops::Range<usize> = 1..7;
const FIRST_PENDING: usize = 4;

impl Snapshot {
    /// Creates objects of every kind and records their responses.
    pub(super) fn seed(&mut self, deployment: &Deployment<'_>) -> Result<()> {
        let files = self.seed_files(deployment)?;
        let available = &files[..COUNT - 1];
        self.seed_loads(deployment, available)?;
        self.seed_listings(deployment, available)?;
        // Loads and listings have shared their files by now.
        for id in &files {
            for (suffix, org) in [("", OWNER), ("", PARTNER), ("/info", OWNER)] {
                self.record(deployment, SYSTEM, format!("/v1/files/{id}{suffix}"), Some(org))?;
            }
        }
        let settings = Body::Json(json!({"logging": {"level": "info", "filter": "actix_web=warn"}}));
        for service in [SYSTEM, LOGISTICS, LIVESTOCK] {
            deployment.send(service, "PUT", "/v1/settings", None, &settings)?;
            self.record(deployment, service, "/v1/settings", None)?;
        }
        Ok(())
    }

    /// Public and private files, one shared and one archived.
    fn seed_files(&mut self, deployment: &Deployment<'_>) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        for number in 0..COUNT {
            let content = vec![b'a' + u8::try_from(number)?; 1 << (number + 8)];
            let mut form = upload(format!("known {number}"), content);
            if number % 3 == 0 {
                form.fields =
                    vec![("bucket", "files".into()), ("type", "sample".into()), ("name", "a".into())];
            }
            ids.push(self.write(deployment, SYSTEM, "/v1/files", Body::Form(form))?);
        }
        let share = Body::Json(json!({"ids": [ids[1]], "shareWith": [PARTNER]}));
        deployment.send(SYSTEM, "POST", "/v1/files/resolve", Some(OWNER), &share)?;
        let last = format!("/v1/files/{}", ids[COUNT - 1]);
        deployment.send(SYSTEM, "DELETE", &last, Some(OWNER), &Body::Empty)?;
        Ok(ids)
    }

    /// Loads with files, a batch, a proof of delivery, delivered and pending notifications.
    fn seed_loads(&mut self, deployment: &Deployment<'_>, files: &[String]) -> Result<()> {
        let mut ids = Vec::new();
        for number in 0..COUNT {
            let files = json!([{"id": files[number % files.len()]}]);
            let load = Body::Json(organised_load(OWNER, &format!("KNOWN-{number}"), &files));
            ids.push(self.write(deployment, LOGISTICS, "/v1/loads/organiser", load)?);
        }
        let post = |path: &str, body| deployment.send(LOGISTICS, "POST", path, Some(OWNER), &body);
        let all = format!("/v1/loads?f:organiserId={OWNER}");
        let csv = deployment.get(LOGISTICS, &format!("{all}&format=CSV"), Some(OWNER))?.bytes;
        post("/v1/loads/batch", Body::Form(batch_csv(csv)))?;
        let proof = json!({
            "weightNet": 27.5, "ticketNumber": "T-1", "vehicleRegistration": "VX12KLM", "files": [{"id": files[0]}],
        });
        post(&format!("/v1/loads/{}/proof-of-delivery", ids[0]), Body::Json(proof))?;
        self.seed_notifications(deployment, &ids)?;
        for id in &ids {
            self.record(deployment, LOGISTICS, format!("/v1/loads/{id}"), Some(OWNER))?;
        }
        for parameters in [
            "limit=100&count=true",
            "format=CSV",
            "query=nown-1",
            "query=KNOWN-7&count=true",
            "f:status=completed",
        ] {
            self.record(deployment, LOGISTICS, format!("{all}&{parameters}"), Some(OWNER))?;
        }
        Ok(())
    }

    fn seed_notifications(&mut self, deployment: &Deployment<'_>, loads: &[String]) -> Result<()> {
        let trial = deployment.trial;
        for number in SENT {
            if number == FIRST_PENDING {
                trial.wait_for("notifications are delivered", TIMEOUT, || {
                    Ok(deployment.receiver.deliveries().len() == self.delivered.len())
                })?;
                deployment.receiver.set_refusing(true);
            }
            let body = Body::Json(json!({"loadId": loads[number], "driverId": format!("driver-{number}")}));
            let sent = deployment.send(LOGISTICS, "POST", "/v1/loads/send-to-driver", Some(OWNER), &body)?;
            let id = sent.json["id"].as_str().context("a notification has no id")?.to_owned();
            if number < FIRST_PENDING { &mut self.delivered } else { &mut self.pending }.push(id);
        }
        let path = format!("/v1/loads/{}/notifications", loads[SENT.start]);
        trial.wait_for("the delivery is recorded", TIMEOUT, || {
            Ok(deployment.get(LOGISTICS, &path, Some(OWNER))?.json[0]["status"] == "delivered")
        })?;
        self.record(deployment, LOGISTICS, path, Some(OWNER))
    }

    /// Listings with files: drafts, a published and a closed one, one that is wished for and reported.
    fn seed_listings(&mut self, deployment: &Deployment<'_>, files: &[String]) -> Result<()> {
        let mut ids = Vec::new();
        for number in 0..COUNT {
            let files = json!([{"id": files[number % files.len()]}]);
            let mut listing = sheep_listing(&format!("KNOWN-{number}"), &files);
            listing["isDraft"] = json!(number < 3);
            ids.push(self.write(deployment, LIVESTOCK, "/v1/listings/sheep", Body::Json(listing))?);
        }
        let [draft, closed, wished] = [0, 3, 4].map(|number| format!("/v1/listings/{}", ids[number]));
        let report = Body::Json(json!({"reason": "other", "message": "?"}));
        for (method, path, org, body) in [
            ("POST", format!("{draft}/publish"), OWNER, Body::Empty),
            ("POST", format!("{closed}/close"), OWNER, Body::Json(json!({"status": "sold"}))),
            ("PUT", format!("{wished}/wishlist"), OWNER, Body::Empty),
            ("POST", format!("{wished}/report"), PARTNER, report),
        ] {
            deployment.send(LIVESTOCK, method, &path, Some(org), &body)?;
        }
        for path in [&draft, &closed, &wished] {
            self.record(deployment, LIVESTOCK, format!("{path}/events"), None)?;
        }
        self.record(deployment, LIVESTOCK, format!("{wished}/reports"), None)?;
        for id in &ids {
            self.record(deployment, LIVESTOCK, format!("/v1/listings/{id}"), Some(OWNER))?;
        }
        for parameters in [
            "limit=100&count=true",
            "format=CSV",
            "docs=false",
            "isWishlisted=true",
            "f:status=draft",
            "f:commodityBreed=Texel",
        ] {
            let path = format!("/v1/listings?f:organisationId={OWNER}&{parameters}");
            self.record(deployment, LIVESTOCK, path, Some(OWNER))?;
        }
        self.active_listings = ids.split_off(5);
        Ok(())
    }
}
