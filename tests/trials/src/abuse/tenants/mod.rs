//! Two organisations share the services: one attacks, the other works and must not notice.

mod batches;
mod compression;
mod deliveries;
mod facets;
mod files;
mod notifications;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::scope;
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use stack::environment::variables;
use stack::fixtures::{organised_load, sheep_listing, upload};
use stack::http::{Body, HttpClient, MAX_IDLE_CONNECTIONS, Response};
use stack::service::ServiceProcess;
use stack::trial::Trial;

use self::notifications::SlowReceiver;
use super::outcomes::Outcomes;
use super::services::{create, start};
use super::target::Target;
use crate::traffic::Request;

const ATTACKER: &str = "attacker";
const HONEST: &str = "honest";
/// Additional memory of a service in MiB.
const MEMORY: f64 = 128.0;
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(120);
/// Threads of an attack of many small requests.
const THREADS: usize = MAX_IDLE_CONNECTIONS / 2;

/// The services that both organisations use.
struct Tenants<'a> {
    trial: &'a Trial<'a>,
    system: Target<'a>,
    logistics: Target<'a>,
    livestock: Target<'a>,
    receiver: SlowReceiver,
    /// Token of the honest organisation.
    honest: String,
    /// Client of all threads of an attack.
    client: HttpClient,
}

/// Runs all attacks on SQLite, and in the long form on PostgreSQL too.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    run_on(trial, false)?;
    if trial.short { Ok(()) } else { run_on(trial, true) }
}

fn run_on(trial: &Trial<'_>, postgres: bool) -> Result<()> {
    let tenants = Tenants::start(trial, postgres)?;
    let shared = files::share(&tenants)?;
    files::create_loads(&tenants, &shared)?;
    facets::run(&tenants)?;
    notifications::run(&tenants)?;
    batches::run(&tenants)?;
    deliveries::multiply(&tenants)?;
    deliveries::flood(&tenants)?;
    compression::run(&tenants)
}

impl<'a> Tenants<'a> {
    fn start(trial: &'a Trial<'a>, postgres: bool) -> Result<Self> {
        let (folder, database) =
            if postgres { ("abuse-postgres", "PostgreSQL") } else { ("abuse-sqlite", "SQLite") };
        let receiver = SlowReceiver::start()?;
        let webhook = variables([
            ("SERVICE__WEBHOOK_URL", format!("http://127.0.0.1:{}/hook", receiver.port()).as_str()),
            ("SERVICE__WEBHOOK_ALLOW_PRIVATE", "true"),
            ("SERVICE__WEBHOOK_SECRETS", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
        ]);
        let [system, logistics, livestock] = start(trial, folder, postgres, webhook)?;
        let (attacker, honest) = (system.token(Some(ATTACKER)), system.token(Some(HONEST)));
        let file = create(&system, "/v1/files", &honest, Body::Form(upload("a", vec![b'C'; 1000])))?;
        let target = |service: ServiceProcess, path: &str, body: Value, paths: &[&str]| {
            let request = |method, path: &str, body| Request::new(method, &service.url(path), &honest, body);
            let mut requests = vec![request("POST", path, Body::Json(body))];
            requests.extend(paths.iter().map(|path| request("GET", path, Body::Empty)));
            let name = format!("{} on {database}", service.name);
            Target::new(trial, service, name, attacker.clone(), requests)
        };
        let (content, info) = (format!("/v1/files/{file}"), format!("/v1/files/{file}/info"));
        let load = load(HONEST, std::slice::from_ref(&file));
        let listing = listing(&["Texel", "pure", "Texel Society"]);
        let searches = ["/v1/listings?docs=false", "/v1/listings", "/v1/categories"];
        Ok(Self {
            trial,
            system: target(system, "/v1/files/resolve", json!({ "ids": [file] }), &[&content, &info])?,
            logistics: target(logistics, "/v1/loads/organiser", load, &["/v1/loads", "/v1/commodities"])?,
            livestock: target(livestock, "/v1/listings/sheep", listing, &searches)?,
            receiver,
            honest,
            client: HttpClient::new(RESPONSE_TIMEOUT),
        })
    }

    /// Sends a POST request of the attacker.
    fn post(&self, target: &Target<'_>, path: &str, body: Body) -> Result<Response> {
        self.client.send("POST", &target.service.url(path), Some(&target.token), &body)
    }

    /// Calls `send` with each number below `count`, from several threads. Returns all outcomes.
    fn repeat(
        &self,
        threads: usize,
        count: usize,
        send: impl Fn(usize) -> Result<String> + Sync,
    ) -> Result<Outcomes> {
        let next = AtomicUsize::new(0);
        let run_thread = || -> Result<Outcomes> {
            let mut outcomes = Outcomes::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok(outcomes);
                }
                self.trial.check()?;
                outcomes.add(send(number)?);
            }
        };
        scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run_thread)).collect();
            let mut all = Outcomes::default();
            for thread in threads {
                all.merge(thread.join().map_err(|_| anyhow!("a thread panicked"))??);
            }
            Ok(all)
        })
    }
}

/// The status of a response, and for invalid data the code and path of the first error.
fn outcome(response: &Response) -> String {
    let error = &response.json["validation"][0];
    match (error["code"].as_str(), error["path"].as_str()) {
        (Some(code), Some(path)) => format!("{} {code} at {path}", response.status),
        _ => response.status.to_string(),
    }
}

/// A load with files and without a carrier, with whom they would be shared.
fn load(organiser: &str, files: &[String]) -> Value {
    let files = files.iter().map(|id| json!({ "id": id })).collect();
    let mut load = organised_load(organiser, "tenants", &files);
    if let Value::Object(members) = &mut load {
        members.retain(|name, _| !name.starts_with("carrier"));
    }
    load
}

/// A listing of sheep of this breed, breed type and society.
fn listing([breed, breed_type, society]: &[&str; 3]) -> Value {
    let mut listing = sheep_listing("tenants", &Value::Null);
    listing["properties"] = json!({"breed": breed, "breedType": breed_type, "breedSociety": society});
    listing
}
