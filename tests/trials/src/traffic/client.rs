//! A client of one service: seeds it, makes the requests of workloads, and reads back what they wrote.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::market::{organised_load, sheep_listing, upload};
use testkit::processes::http::{Body, HttpClient, Response};
use testkit::processes::service::ServiceProcess;
use testkit::processes::trial::Trial;

use super::REQUEST_TIMEOUT;
use super::workload::{Records, Request, Workload};
use crate::ledger::Ledger;

/// Number of seeded loads, listings or files.
pub const SEEDED: usize = 12;
/// Their organisation.
pub const SEED_ORG: &str = "org-seeded";
/// The organisation that writes.
pub const WRITE_ORG: &str = "org-writing";
/// Fills large files after their marker.
const FILLER: u8 = b'.';

/// A client of one service at an address, which may be a proxy's.
#[derive(Debug, Clone)]
pub struct Client {
    /// Name of the service.
    pub service: &'static str,
    url: String,
    /// PostgreSQL URL of the service's database, if there is one. The names of files are read from it.
    database: Option<String>,
    seed_token: String,
    write_token: String,
    /// Id of the last seeded load, listing or file.
    seeded: String,
    http: Arc<HttpClient>,
}

impl Client {
    /// Seeds the service at this base URL. `token` makes the token of an organisation.
    pub fn seed(
        service: &'static str,
        url: String,
        database: Option<String>,
        token: impl Fn(&str) -> String,
    ) -> Result<Self> {
        let (seed_token, write_token) = (token(SEED_ORG), token(WRITE_ORG));
        let http = Arc::new(HttpClient::new(REQUEST_TIMEOUT));
        let mut client =
            Self { service, url, database, seed_token, write_token, seeded: String::new(), http };
        for _ in 0..SEEDED {
            client.seeded = client.create(SEED_ORG, &client.seed_token, "SEED")?;
        }
        Ok(client)
    }

    /// The same client at another address of the service.
    pub fn at(&self, url: String) -> Self {
        Self { url, ..self.clone() }
    }

    /// Creates a file, load or listing of [`WRITE_ORG`] and returns its id.
    pub fn write(&self, marker: &str) -> Result<String> {
        self.create(WRITE_ORG, &self.write_token, marker)
    }

    fn create(&self, org: &str, token: &str, marker: &str) -> Result<String> {
        let (path, body) = body(self.service, org, marker, &Value::Null);
        let response = self.http.send("POST", &format!("{}{path}", self.url), Some(token), &body)?;
        let id = response.json["id"].as_str().map(str::to_owned);
        id.with_context(|| format!("POST {path} returned {}: {}", response.status, response.json))
    }

    fn get(&self, path: &str) -> Result<Response> {
        let url = format!("{}{path}", self.url);
        let response = self.http.send("GET", &url, Some(&self.write_token), &Body::Empty)?;
        ensure!(response.status == 200, "GET {path} returned {}: {}", response.status, response.json);
        Ok(response)
    }

    /// Writes with markers of this prefix, and reads of seeded objects.
    pub fn workloads(&self, prefix: &str) -> Vec<Workload> {
        let id = self.seeded.clone();
        let has_id = move |r: &Response| r.json["id"] == id.as_str();
        let has_all = |r: &Response| r.json.as_array().is_some_and(|rows| rows.len() == SEEDED);
        let has_total = |r: &Response| r.json["total"] == SEEDED;
        let path = |resource: &str| format!("/v1/{resource}/{}", self.seeded);
        let mut workloads = vec![self.writes("create", prefix, Value::Null)];
        workloads.extend(match self.service {
            "system" => [
                self.reads("download", path("files"), |r| r.bytes == b"SEED"),
                self.reads("file info", path("files") + "/info", |r| r.json["name"] == "SEED"),
            ],
            "logistics" => [
                self.reads("read", path("loads"), has_id),
                self.reads("search", format!("/v1/loads?f:organiserId={SEED_ORG}&limit=100"), has_all),
            ],
            _ => {
                let search = format!("/v1/listings?f:organisationId={SEED_ORG}");
                [
                    self.reads("search", format!("{search}&limit=100"), has_all),
                    self.reads("facets", format!("{search}&docs=false"), has_total),
                ]
            }
        });
        workloads
    }

    /// Probes of an orchestrator: liveness, which must always succeed, and readiness, which may be 503.
    pub fn probes(&self) -> [Workload; 2] {
        let probe = |name, path| self.reads(name, path, |_| true);
        [probe("healthz", "/healthz").unaffected(), probe("readyz", "/readyz").accept(&[503])]
    }

    /// Reads a path. A successful response must satisfy `is_right`.
    pub fn reads(
        &self,
        name: &'static str,
        path: impl Into<String>,
        is_right: impl Fn(&Response) -> bool + Send + Sync + 'static,
    ) -> Workload {
        let (url, token) = (format!("{}{}", self.url, path.into()), self.seed_token.clone());
        Workload::new(self.service, name, move |_| Request::new("GET", &url, &token, Body::Empty), is_right)
    }

    /// Creates loads or listings with a file.
    pub fn writes_with_file(&self, prefix: &str, file: &str) -> Workload {
        self.writes("create with file", &format!("{prefix}F"), json!([{ "id": file }]))
    }

    fn writes(&self, name: &'static str, prefix: &str, files: Value) -> Workload {
        let service = self.service;
        self.posts(name, prefix, move |marker| body(service, WRITE_ORG, marker, &files))
    }

    /// Uploads files of this size, in bytes.
    pub fn large_uploads(&self, prefix: &str, size: usize) -> Workload {
        self.posts("large upload", &format!("{prefix}L"), move |marker| {
            let mut content = marker.as_bytes().to_vec();
            content.resize(size, FILLER);
            ("/v1/files", Body::Form(upload(marker, content)))
        })
    }

    /// Posts to paths with bodies that are made of markers of this prefix. Every other request has an idempotency key.
    pub fn posts(
        &self,
        name: &'static str,
        prefix: &str,
        body: impl Fn(&str) -> (&'static str, Body) + Send + Sync + 'static,
    ) -> Workload {
        let (base, token, prefix) = (self.url.clone(), self.write_token.clone(), prefix.to_owned());
        let request = move |number: usize| {
            let marker = format!("{prefix}-{number}");
            let (path, body) = body(&marker);
            let key = number.is_multiple_of(2).then(|| marker.clone());
            let request = Request::new("POST", &format!("{base}{path}"), &token, body);
            Request { key, marker: Some(marker), ..request }
        };
        Workload::new(self.service, name, request, |response| !response.json.is_null())
    }

    /// Checks that the recorded writes at this service with markers of this prefix are stored as their outcomes say.
    pub fn verify(
        &self,
        trial: &Trial<'_>,
        records: &Records,
        prefix: &str,
        ledger: &mut Ledger,
    ) -> Result<()> {
        let is_system = self.service == "system";
        for (marker, state) in records.writes(self.service).filter(|_| is_system) {
            let Some(id) = state.id() else { continue };
            let content = self.get(&format!("/v1/files/{id}"))?.bytes;
            let rest = content.strip_prefix(marker.as_bytes());
            let is_right = rest.is_some_and(|rest| rest.iter().all(|byte| *byte == FILLER));
            ledger.check_content(is_right, || format!("system: {marker} has another content"));
        }
        let markers: Vec<String> = match &self.database {
            None if is_system => return Ok(()),
            Some(database) if is_system => {
                let statement = format!("SELECT name FROM files WHERE name LIKE '{prefix}%'");
                trial.databases.execute(database, "system", &statement)?.lines().map(str::to_owned).collect()
            }
            _ => {
                let marker =
                    |row: &Value| row["reference"].as_str().or(row["tags"][0].as_str()).map(str::to_owned);
                self.written()?.iter().filter_map(marker).collect()
            }
        };
        let mut stored = BTreeMap::new();
        for marker in markers.into_iter().filter(|marker| marker.starts_with(prefix)) {
            *stored.entry(marker).or_default() += 1;
        }
        ledger.check_counts(self.service, records.writes(self.service), stored);
        Ok(())
    }

    /// All loads or listings of [`WRITE_ORG`], read page by page.
    fn written(&self) -> Result<Vec<Value>> {
        let search = match self.service {
            "logistics" => format!("/v1/loads?limit=100&f:organiserId={WRITE_ORG}"),
            _ => format!("/v1/listings?limit=100&f:organisationId={WRITE_ORG}"),
        };
        let (mut all, mut next) = (Vec::new(), search.clone());
        loop {
            let response = self.get(&next)?;
            let rows = response.json.as_array().context("a page is no array")?;
            all.extend(rows.iter().cloned());
            let Some(cursor) = response.cursor() else { return Ok(all) };
            ensure!(!rows.is_empty(), "a page before the last is empty");
            next = format!("{search}&cursor={cursor}");
        }
    }
}

/// The path and body that create a file, load or listing with a marker.
fn body(service: &str, org: &str, marker: &str, files: &Value) -> (&'static str, Body) {
    match service {
        "system" => ("/v1/files", Body::Form(upload(marker, marker))),
        "logistics" => ("/v1/loads/organiser", Body::Json(organised_load(org, marker, files))),
        _ => ("/v1/listings/sheep", Body::Json(sheep_listing(marker, files))),
    }
}

/// A running service with seeded objects, and a client of it.
pub struct Target {
    /// The service.
    pub service: ServiceProcess,
    /// Its client.
    pub client: Client,
}

impl Target {
    /// Seeds a service.
    pub fn new(service: ServiceProcess) -> Result<Self> {
        let database = service.config().database.clone();
        let client = Client::seed(service.name, service.url(""), database, |org| service.token(Some(org)))?;
        Ok(Self { service, client })
    }

    /// Writes with markers of this prefix, reads of seeded objects, and probes.
    pub fn workloads(&self, prefix: &str) -> Vec<Workload> {
        let mut workloads = self.client.workloads(prefix);
        workloads.extend(self.client.probes());
        workloads
    }
}
