//! `fuzz`: schemathesis generates valid and invalid requests from the OpenAPI documents and checks the responses.
//!
//! All checks of schemathesis run. `rules.py` replaces two of them to allow for rules of docs/api that a schema cannot
//! express. `schemathesis.toml` is the configuration.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{ScopedJoinHandle, scope};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::{Value, json};
use testkit::market::{batch, carried_load, organised_load, sheep_listing, upload};
use testkit::processes::http::Body;
use testkit::processes::interrupt::Interrupt;
use testkit::processes::service::ServiceProcess;
use testkit::processes::tokens::{DevKeys, Identity};
use testkit::processes::trial::Trial;
use testkit::processes::{checkout, process, tools};

/// Organisation of the user who sends the requests.
const ORG: &str = "penybont-farm";
/// Organisation whose listing that user may report.
const OTHER_ORG: &str = "cwm-farm";
const TOKEN_TTL: Duration = Duration::from_secs(24 * 3600);

/// Runs the trial on SQLite, and in the long form on PostgreSQL too.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    prepare(trial.stop)?;
    fuzz(trial, "SQLite", false)?;
    if trial.short { Ok(()) } else { fuzz(trial, "PostgreSQL", true) }
}

/// Fuzzes the three services concurrently.
fn fuzz(trial: &Trial<'_>, database: &str, is_postgres: bool) -> Result<()> {
    let folder = database.to_lowercase();
    let services = trial.stack(&trial.stack_config(&folder, is_postgres)?)?.services;
    let token = admin_of_org(&DevKeys::load_or_create(&trial.path("keys"))?);
    let other_token = services[0].token(Some(OTHER_ORG));
    let examples = create(&services, ORG, &token, &other_token)?;
    let webhooks = create_webhooks(&services[1..], &token)?;

    let begun = Instant::now();
    let reports = checkout::target_dir()?.join("fuzz").join(&folder);
    let results: Vec<_> = scope(|scope| {
        let start = |service| {
            let (token, reports) = (&token, &reports);
            let examples = of_service(service, &examples, &webhooks);
            scope.spawn(move || ServiceRun { trial, service, token, examples, reports }.run())
        };
        let threads: Vec<_> = services.iter().map(start).collect();
        let joined = threads.into_iter().map(ScopedJoinHandle::join);
        joined.map(|result| result.unwrap_or_else(|_| Err(anyhow!("a thread panicked")))).collect()
    });
    for service in &services {
        fs::write(reports.join(service.name).join("service.log"), service.log())?;
    }
    for (service, result) in services.iter().zip(results) {
        let check = format!("{} on {database}: generated requests", service.name);
        trial.note(check, result?, "all responses as documented");
    }
    let check = format!("duration of all three on {database}");
    trial.note(check, format!("{} s", begun.elapsed().as_secs()), "-");
    Ok(())
}

/// Signs a token of an administrator who acts for [`ORG`].
fn admin_of_org(keys: &DevKeys) -> String {
    let roles = ["admin".to_owned()];
    let identity = Identity {
        user: "carys",
        name: Some("Carys"),
        org: Some(ORG),
        org_name: Some("Farm"),
        roles: &roles,
    };
    identity.token(keys, TOKEN_TTL)
}

/// Builds the Unicode tables of its library. Each run builds them again, in seconds, unless they are stored.
const BUILD_TABLES: &str =
    "from hypothesis.internal import charmap; charmap.charmap(); charmap.intervals_from_codec('utf-8')";

/// Returns the folder of its configuration and hooks.
pub fn folder() -> PathBuf {
    checkout::root().join("tests/trials/src/fuzz")
}

/// Returns a command that runs schemathesis with our configuration and hooks.
pub fn command() -> Result<Command> {
    let mut command = with_stored_tables("schemathesis")?;
    command.arg("--config-file").arg(folder().join("schemathesis.toml"));
    command.env("SCHEMATHESIS_HOOKS", folder().join("rules.py"));
    Ok(command)
}

/// Builds and stores the Unicode tables, unless they are stored already.
pub fn prepare(interrupt: &Interrupt) -> Result<()> {
    let status = process::run(with_stored_tables("python3")?.args(["-c", BUILD_TABLES]), interrupt)?;
    ensure!(status.success(), "hypothesis does not run: delete target/tools/python and run .ci/install");
    Ok(())
}

fn with_stored_tables(program: &str) -> Result<Command> {
    let mut command = Command::new(tools::find(program)?);
    command.env("HYPOTHESIS_STORAGE_DIRECTORY", checkout::target_dir()?.join("tools/hypothesis"));
    command.env("PYTHONDONTWRITEBYTECODE", "1"); // no folder beside rules.py
    Ok(command)
}

/// Timeout of a run.
const RUN_TIMEOUT: Duration = Duration::from_secs(1200);
/// Generated requests of each operation, in addition to those of its examples: long and short form.
const MAX_EXAMPLES: [&str; 2] = ["60", "2"];
/// Operations that the short form skips. Other operations run the same code.
const SKIPPED_OPERATIONS: &str = "_public$|^create_(feed|bedding|working_dog)_listing$";
/// Maximum lines of the output that are printed after a failure.
const MAX_PRINTED_LINES: usize = 150;

/// A service and the requests that it receives.
pub struct ServiceRun<'a> {
    pub trial: &'a Trial<'a>,
    pub service: &'a ServiceProcess,
    pub token: &'a str,
    /// JSON of a successful request for some of the operations.
    pub examples: String,
    /// Folder of the reports. Each service has a folder in it.
    pub reports: &'a Path,
}

impl ServiceRun<'_> {
    /// Runs schemathesis and returns its summary.
    ///
    /// # Errors
    /// A response is not as documented, an operation never succeeded, or the run exceeded its timeout.
    pub fn run(&self) -> Result<String> {
        let name = self.service.name;
        let report = self.reports.join(name);
        let folder = report.display();
        let advice = || format!("cannot write to {folder}: make it writable");
        if report.exists() {
            fs::remove_dir_all(&report).with_context(advice)?;
        }
        fs::create_dir_all(&report).with_context(advice)?;
        let log = report.join("output.txt");
        let stdout = File::create(&log).with_context(advice)?;
        let stderr = stdout.try_clone().with_context(advice)?;
        let mut command = self.command()?;
        command.current_dir(&report).stdout(stdout).stderr(stderr);

        let begun = Instant::now();
        let check = || {
            let limit = RUN_TIMEOUT.as_secs();
            ensure!(begun.elapsed() < RUN_TIMEOUT, "{name}: timeout of {limit} s, see {folder}");
            Ok(())
        };
        let status = process::run_while(&mut command, self.trial.stop, check)?;
        let output = fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))?;
        let summary =
            output.lines().skip_while(|line| *line != "Test cases:").nth(1).unwrap_or_default().trim();
        if status.success() && !summary.is_empty() {
            let failed = operations_without_success(&report.join("schemathesis-report"))?;
            ensure!(
                failed.is_empty(),
                "{name}: no request succeeded for {}: see {folder} and add examples to fuzz/examples.rs",
                failed.join(", ")
            );
            return Ok(summary.to_owned());
        }
        let start = output.find("= FAILURES =").or(output.find("= ERRORS =")).unwrap_or_default();
        for line in output[start..].lines().filter(|line| !line.trim().is_empty()).take(MAX_PRINTED_LINES) {
            eprintln!("  {name}: {line}");
        }
        let (short, seed) = (if self.trial.short { " --short" } else { "" }, self.trial.seed);
        bail!(
            "{name}: responses differ from the OpenAPI document (see above; the whole report is in {folder}). \
             Repeat with `cargo xtask trials fuzz{short} --seed {seed}`"
        );
    }

    fn command(&self) -> Result<Command> {
        let short = self.trial.short;
        let mut command = command()?;
        command.arg("run").arg(self.service.url("/openapi.json"));
        command.args(["--no-color", "--generation-database", "none", "--continue-on-failure"]);
        command.args(["--request-timeout", "30", "--report", "ndjson"]);
        command.args(["--seed", &self.trial.seed.to_string()]);
        command.args(["--max-examples", MAX_EXAMPLES[usize::from(short)]]);
        if short {
            command.args(["--no-shrink", "--exclude-operation-id-regex", SKIPPED_OPERATIONS]);
        }
        command.env("DROVER_FUZZ_TOKEN", self.token).env("DROVER_FUZZ_EXAMPLES", &self.examples);
        Ok(command)
    }
}

/// Returns the operations of a report (`GET /path`) that returned no 2xx status.
fn operations_without_success(report: &Path) -> Result<Vec<String>> {
    let mut operations = BTreeMap::<_, bool>::new();
    for entry in fs::read_dir(report).context("schemathesis wrote no report")? {
        for line in BufReader::new(File::open(entry?.path())?).lines() {
            let event: Value = serde_json::from_str(&line?)?;
            let recorder = &event["ScenarioFinished"]["recorder"];
            let Some(label) = recorder["label"].as_str().filter(|label| label.contains(" /")) else {
                continue;
            };
            let interactions = recorder["interactions"].as_object().into_iter().flatten();
            let mut statuses =
                interactions.filter_map(|(_, interaction)| interaction["response"]["status_code"].as_u64());
            let succeeded = statuses.any(|status| (200..300).contains(&status));
            *operations.entry(label.to_owned()).or_default() |= succeeded;
        }
    }
    ensure!(!operations.is_empty(), "the report of schemathesis names no operation");
    Ok(operations.into_iter().filter(|(_, succeeded)| !succeeded).map(|(label, _)| label).collect())
}

/// Stores files, loads of each status and listings of an organisation, and a listing of another organisation. Returns
/// a successful request for each operation, by its id.
#[expect(clippy::too_many_lines, reason = "a request for each operation")]
pub fn create(services: &[ServiceProcess], org: &str, token: &str, other_token: &str) -> Result<Value> {
    let [system, logistics, livestock] = services else { bail!("the stack has other services") };

    let upload = || post(system, "/v1/files", token, &Body::Form(upload("ticket", "29.4 t")));
    let (file, archived_file) = (upload()?, upload()?);
    let files = json!([{"id": file}]);

    let mut carried = carried_load(org, "A-1");
    carried["files"] = files.clone();
    post(logistics, "/v1/loads/carrier", token, &Body::Json(carried))?;
    let mut organised = organised_load(org, "A-2", &Value::Null);
    organised.as_object_mut().context("a load is an object")?.retain(|name, _| !name.starts_with("carrier"));
    let organised = Body::Json(organised);
    let create_load = || post(logistics, "/v1/loads/organiser", token, &organised);
    let [completed_load, load_to_prove, load_to_prove_by_path, open_load, load_to_edit, load_to_cancel] =
        [create_load()?, create_load()?, create_load()?, create_load()?, create_load()?, create_load()?];
    let send = Body::Json(json!({"loadId": completed_load, "driverId": "dai"}));
    let notification = post(logistics, "/v1/loads/send-to-driver", token, &send)?;
    let proof = |ticket: &str| {
        json!({
            "weightNet": 27.1, "ticketNumber": ticket, "vehicleRegistration": "VX21 ABC", "files": null,
        })
    };
    let proof_of = |load: &Value| {
        let mut proof = proof("7");
        proof["loadId"] = load.clone();
        proof
    };
    let proof_of_delivery = Body::Json(proof_of(&completed_load));
    logistics.send("POST", "/v1/loads/proof-of-delivery", token, &proof_of_delivery)?;

    let create_listing = |token, is_draft: bool, files| {
        let mut listing = sheep_listing("store", files);
        listing["isDraft"] = json!(is_draft);
        listing["location"] = json!({"coordinates": {"lat": 51.9469, "lon": -3.3915}});
        listing["price"] = json!({"type": "fixed", "pricePerUnit": {"amount": 1250, "currency": "GBP"}});
        post(livestock, "/v1/listings/sheep", token, &Body::Json(listing))
    };
    create_listing(token, true, &Value::Null)?;
    create_listing(token, false, &files)?;
    let other_listing = create_listing(other_token, false, &Value::Null)?;

    let search =
        Body::Json(json!({"name": "stores", "parameters": {"f:commodityType": "store"}, "notify": true}));
    let save = || post(livestock, "/v1/saved-searches", token, &search);
    let (saved, saved_to_delete) = (save()?, save()?);

    let addresses = system.get("/v1/addresses?query=hereford&limit=2", token)?.json;
    let address = addresses["id"].as_str().context("the search found no address")?;
    let location = system.get(&format!("/v1/locations/address?id={address}"), token)?.json;
    let words = &location["threeWords"];

    let batch = batch(org, "A-3", 1);
    let csv = String::from_utf8_lossy(&batch.content);
    let mut examples = json!({
        "accept_load": {"path_parameters": {"id": open_load}},
        "archive_file": {"path_parameters": {"id": archived_file}},
        "cancel_load": {
            "path_parameters": {"id": load_to_cancel}, "media_type": "application/json", "body": {"reason": "Rain"},
        },
        "correct_proof_of_delivery": {
            "path_parameters": {"id": completed_load}, "media_type": "application/json",
            "body": {"weightNet": 27.2, "reason": "The ticket was misread"},
        },
        "create_note": {
            "path_parameters": {"id": completed_load}, "media_type": "application/json",
            "body": {"text": "The gate is locked"},
        },
        "create_load_batch": {"body": {"file": [csv]}, "media_type": "multipart/form-data"},
        "delete_saved_search": {"path_parameters": {"id": saved_to_delete}},
        "find_file": {"path_parameters": {"id": file}},
        "find_location_by_address": {"query": {"id": address}},
        "find_location_by_address_public": {"query": {"id": address}},
        "find_location_by_words": {"query": {"query": words}},
        "find_location_by_words_public": {"query": {"query": words}},
        "find_saved_search": {"path_parameters": {"id": saved}},
        "list_listings_of_saved_search": {"path_parameters": {"id": saved}},
        "list_load_drivers": {"path_parameters": {"id": completed_load}},
        "list_load_events": {"path_parameters": {"id": completed_load}},
        "prove_delivery": {"body": proof_of(&load_to_prove), "media_type": "application/json"},
        "prove_delivery_of_load": {
            "path_parameters": {"id": load_to_prove_by_path}, "media_type": "application/json", "body": proof("8"),
        },
        "redeliver_notification": {"path_parameters": {"loadId": completed_load, "id": notification}},
        "report_listing": {
            "path_parameters": {"id": other_listing}, "media_type": "application/json",
            "body": {"reason": "other", "message": null},
        },
        "resolve_files": {
            "body": {"ids": [file], "shareWith": ["penhow"], "unshareWith": ["cwm-farm"]},
            "media_type": "application/json",
        },
        "revoke_load_driver": {"path_parameters": {"id": completed_load, "driverId": "dai"}},
        "search_addresses": {"query": {"query": "hereford"}},
        "search_addresses_public": {"query": {"query": "hereford"}},
        "send_load_to_carrier": {
            "body": {"loadId": open_load, "carrierId": "penhow"}, "media_type": "application/json",
        },
        "send_load_to_driver": {"body": {"loadId": open_load, "driverId": "dai"}, "media_type": "application/json"},
        "update_load": {
            "path_parameters": {"id": load_to_edit}, "media_type": "application/merge-patch+json",
            "body": {"reference": "A-4", "weight": 28.5},
        },
        "update_saved_search": {
            "path_parameters": {"id": saved}, "media_type": "application/merge-patch+json",
            "body": {"name": "store lambs", "parameters": {"maxAge": "12"}},
        },
    });
    add_service_accounts(&mut examples, system, token)?;
    Ok(examples)
}

/// Creates service accounts, and adds the successful requests for their operations.
fn add_service_accounts(examples: &mut Value, system: &ServiceProcess, token: &str) -> Result<()> {
    let form = Body::Json(json!({"name": "Weighbridge"}));
    let create = || Ok::<_, anyhow::Error>(system.send("POST", "/v1/service-accounts", token, &form)?.json);
    let (client, account, to_delete) = (create()?, create()?, create()?);
    let by_id = json!({"path_parameters": {"id": account["id"]}});
    examples["create_token"] = json!({
        "media_type": "application/x-www-form-urlencoded",
        "body": {
            "grant_type": "client_credentials", "client_id": client["clientId"],
            "client_secret": client["clientSecret"],
        },
    });
    examples["find_service_account"] = by_id.clone();
    examples["rotate_service_account_secret"] = by_id;
    examples["update_service_account"] = json!({
        "path_parameters": {"id": account["id"]}, "media_type": "application/merge-patch+json",
        "body": {"name": "Office"},
    });
    examples["delete_service_account"] = json!({"path_parameters": {"id": to_delete["id"]}});
    Ok(())
}

/// Creates webhooks in services. Returns the successful requests for their operations by the name of the service.
pub fn create_webhooks(services: &[ServiceProcess], token: &str) -> Result<Value> {
    let mut examples = json!({});
    for service in services {
        let event = if service.name == "livestock" { "listing.closed" } else { "load.created" };
        let form = Body::Json(json!({"url": "https://hooks.invalid/", "events": [event]}));
        let webhook = post(service, "/v1/webhooks", token, &form)?;
        let to_delete = post(service, "/v1/webhooks", token, &form)?;
        let path = format!("/v1/webhooks/{}/test", webhook.as_str().unwrap_or_default());
        let delivery = post(service, &path, token, &Body::Empty)?;
        let by_id = json!({"path_parameters": {"id": webhook}});
        examples[service.name] = json!({
            "create_webhook": {
                "media_type": "application/json", "body": {"url": "https://hooks.invalid/a", "events": [event]},
            },
            "delete_webhook": {"path_parameters": {"id": to_delete}},
            "find_webhook": by_id,
            "list_webhook_deliveries": by_id,
            "redeliver_webhook_delivery": {"path_parameters": {"id": webhook, "deliveryId": delivery}},
            "rotate_webhook_secret": by_id,
            "test_webhook": by_id,
            "update_webhook": {
                "path_parameters": {"id": webhook}, "media_type": "application/merge-patch+json",
                "body": {"description": "office"},
            },
        });
    }
    Ok(examples)
}

/// Returns the requests for a service as JSON: `examples`, and those of its own.
pub fn of_service(service: &ServiceProcess, examples: &Value, own: &Value) -> String {
    let mut all = examples.clone();
    if let (Some(all), Some(own)) = (all.as_object_mut(), own[service.name].as_object()) {
        all.extend(own.clone());
    }
    all.to_string()
}

/// Creates an object and returns its id.
fn post(service: &ServiceProcess, path: &str, token: &str, body: &Body) -> Result<Value> {
    let id = service.send("POST", path, token, body)?.json["id"].take();
    ensure!(id.is_string(), "POST {path} returned no id");
    Ok(id)
}
