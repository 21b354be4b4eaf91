//! Creation of single loads, batch imports, and the write-ahead log beside a slow reader.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::lifecycle::mib;
use super::search::for_all_clients;
use crate::datasets;
use crate::environment::BenchEnvironment;
use crate::limits;
use crate::measurement::{Measurement, Run};
use crate::report::Bound::{AtLeast, AtMost};
use crate::report::{P50, RATE, Target};
use crate::wrk::Requests;
use testkit::market::random::{Random, SEED};
use testkit::market::{loads, organised_load};
use testkit::processes::http::Body;
use testkit::processes::service::ServiceProcess;

/// Number of different loads that are created in turn.
const LOAD_COUNT: usize = 100;
/// Rows of a batch.
pub const BATCH_SIZE: usize = 10_000;
/// Rows of a sheet that people correct on a screen. One of 50 is wrong, so that there are as many as an upload can
/// correct.
const SHEET_SIZE: usize = 50_000;
const SHEET_ROWS_PER_FAULT: usize = 50;
/// Clients that create loads beside a slow export.
const WRITERS: usize = 16;

const TARGETS: &[Target] = &[("× CPU of floor", AtMost(2.5)), ("% of requests/s of pgbench", AtLeast(75.0))];

/// Creates single loads from 1, 16 and 64 clients.
pub fn create_loads(env: &BenchEnvironment) -> Result<()> {
    let service = env.service("logistics")?;
    let requests = &create_requests(env, service)?;
    for (clients, label) in [(1, "1 client"), (16, "16 clients"), (64, "64 clients")] {
        let limit = limits::creates(env, service, requests, clients)?;
        let run = Box::new(|| env.load(service, requests, clients));
        env.measure(&format!("create-loads, {label}"), service, run, vec![limit], TARGETS)?;
    }
    Ok(())
}

/// Creates single loads from 1 to 256 clients.
pub fn by_clients(env: &BenchEnvironment) -> Result<()> {
    let service = env.service("logistics")?;
    let requests = &create_requests(env, service)?;
    for_all_clients(env, "create a load", |clients, name| {
        env.measure(name, service, Box::new(|| env.load(service, requests, clients)), Vec::new(), &[])
    })
}

/// Returns requests that create loads, each by its organiser.
pub fn create_requests(env: &BenchEnvironment, service: &ServiceProcess) -> Result<Requests> {
    let mut tokens = HashMap::new();
    let requests = create_bodies().into_iter().map(|body| {
        let organiser = body["organiserId"].as_str().unwrap_or_default().to_owned();
        let token = tokens.entry(organiser).or_insert_with_key(|id| service.token(Some(id)));
        (token.clone(), body)
    });
    Requests::post(env.temp_path("requests"), "/v1/loads/organiser", &requests.collect::<Vec<_>>())
}

/// Returns loads to create, the same in every run.
pub fn create_bodies() -> Vec<Value> {
    let mut random = Random(SEED);
    let mut body = |number| {
        let organiser = loads::organiser(&mut random);
        let mut body = organised_load(&format!("org-{organiser}"), &format!("NEW-{number}"), &Value::Null);
        body["organiserName"] = json!(format!("Grain {organiser}"));
        body["carrierId"] = json!(format!("haul-{}", loads::carrier(&mut random)));
        body["commodityId"] = json!(loads::commodity(&mut random));
        let (month, day) = (1 + random.below(12), 1 + random.below(28));
        body["deliveryDateISO"] = json!(format!("2026-{month:02}-{day:02}"));
        body["tags"] = json!(["contract"]);
        body
    };
    (0..LOAD_COUNT).map(&mut body).collect()
}

/// Imports batches of 10,000 loads. Their full-text index follows later.
pub fn import(env: &BenchEnvironment) -> Result<()> {
    let (service, mut random, mut first) = (env.service("logistics")?, Random(SEED), 10_000_000);
    let run = || {
        first += BATCH_SIZE; // the service rejects a batch that it has imported before
        import_batch(env, service, loads::csv_batch(&mut random, first, BATCH_SIZE))
    };
    let targets = &[(RATE, AtLeast(15_000.0))];
    env.measure("import", service, Box::new(run), Vec::new(), targets).map(drop)
}

/// Edits 10,000 loads by a batch that has another registration for each of them.
pub fn updates(env: &BenchEnvironment) -> Result<()> {
    let (service, mut random, mut first) = (env.service("logistics")?, Random(SEED), 15_000_000);
    let run = || {
        first += BATCH_SIZE;
        let csv = loads::csv_batch(&mut random, first, BATCH_SIZE);
        let changed = String::from_utf8(csv.clone())?.replace(",VX", ",WX").into_bytes();
        datasets::import(service, &service.token(None), &[], csv)?;
        measure_import(env, service, &[("ifExists", "update")], changed)
    };
    let targets = &[(RATE, AtLeast(5_000.0))];
    env.measure("updates by a batch", service, Box::new(run), Vec::new(), targets).map(drop)
}

/// Tries and imports sheets of 50,000 loads, some of them with 1,000 wrong dates.
pub fn sheets(env: &BenchEnvironment) -> Result<()> {
    let (service, first) = (env.service("logistics")?, Cell::new(20_000_000));
    let (size, step) = (SHEET_SIZE.min(env.rows / 2), SHEET_ROWS_PER_FAULT);
    let sheet = || {
        first.set(first.get() + size); // the service rejects a sheet that it has imported before
        loads::csv_batch(&mut Random(SEED), first.get(), size)
    };
    let faulty_sheet = || -> Result<Vec<u8>> {
        let text = String::from_utf8(sheet())?;
        let wrong = |(line, row): (usize, &str)| {
            if line % step == 1 { row.replacen(",20", ",x20", 1) } else { row.to_owned() }
        };
        Ok(text.split_inclusive('\n').enumerate().map(wrong).collect::<String>().into_bytes())
    };
    let correction =
        |number| json!({"row": number * step, "column": "deliveryDateISO", "value": "2026-10-01"});
    let corrections = json!((0..size / step).map(correction).collect::<Vec<_>>()).to_string();
    let fields = [("corrections", corrections.as_str())];

    let plain: Run = Box::new(|| measure_import(env, service, &[], sheet()));
    let corrected = Box::new(|| measure_import(env, service, &fields, faulty_sheet()?));
    let targets = &[("× CPU of without corrections", AtMost(1.1))];
    env.measure("1,000 corrections", service, corrected, vec![("without corrections", plain)], targets)?;

    let dry_run = Box::new(|| measure_import(env, service, &[("dryRun", "true")], sheet()));
    env.measure("dry run", service, dry_run, Vec::new(), &[(RATE, AtLeast(5_000.0))])?;

    // Proxies wait two minutes for a response.
    let fields = [("dryRun", "true"), ("format", "XLSX")];
    let problems = Box::new(|| measure_import(env, service, &fields, faulty_sheet()?));
    env.measure("sheet with problems", service, problems, Vec::new(), &[(P50, AtMost(120e6))]).map(drop)
}

/// Cancels 200 loads by one request. Half of them do not exist.
pub fn actions(env: &BenchEnvironment) -> Result<()> {
    let (service, mut random) = (env.service("logistics")?, Random(SEED));
    let admin = service.token(None);
    let csv = loads::csv_batch(&mut random, 18_000_000, 100);
    let created = datasets::import(service, &admin, &[], csv)?.json["ids"].take();
    let mut ids: Vec<_> = created.as_array().context("no ids")?.clone();
    ids.extend((0..100).map(|number| json!(format!("01955bf1-7c00-7000-8000-{number:012}"))));
    let body = Body::Json(json!({ "action": "cancel", "ids": ids }));
    let started = Instant::now();
    let results = service.send("POST", "/v1/loads/actions", &admin, &body)?.json;
    let ms = started.elapsed().as_secs_f64() * 1000.0;
    ensure!((&results["done"], &results["failed"]) == (&json!(100), &json!(100)), "{results}");
    env.add_value("actions: 200 loads, half of them refused", ms, "ms", Some(AtMost(1_000.0)));
    Ok(())
}

/// Imports a batch and measures its rows.
pub fn import_batch(env: &BenchEnvironment, service: &ServiceProcess, csv: Vec<u8>) -> Result<Measurement> {
    measure_import(env, service, &[], csv)
}

/// Imports a batch with these fields of the form, and measures its rows.
#[expect(clippy::cast_precision_loss, reason = "at most 50,000 rows")]
fn measure_import(
    env: &BenchEnvironment,
    service: &ServiceProcess,
    fields: &[(&'static str, &str)],
    csv: Vec<u8>,
) -> Result<Measurement> {
    let admin = service.token(None);
    let rows = csv.split(|byte| *byte == b'\n').count() - 2; // the heading, and nothing after the last line
    env.with_cpu(Some(service), || {
        let started = Instant::now();
        datasets::import(service, &admin, fields, csv)?;
        let us = started.elapsed().as_secs_f64() * 1e6;
        Ok(Measurement { requests: rows as f64, us, p50: us, p99: us, p999: us, cpu: None })
    })
}

/// Creates loads while an export of all loads is open whose client reads nothing after the first bytes.
pub fn slow_export(env: &BenchEnvironment) -> Result<()> {
    if env.postgres.is_some() {
        return Ok(());
    }
    let service = env.service("logistics")?;
    let requests = create_requests(env, service)?;
    let mut export = TcpStream::connect(("127.0.0.1", service.port())).context("cannot connect")?;
    write!(
        export,
        "GET /v1/loads?format=CSV HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n\r\n",
        service.token(None)
    )?;
    let mut status = [0; 12];
    export.read_exact(&mut status)?;
    ensure!(status == *b"HTTP/1.1 200", "the export returned {}", String::from_utf8_lossy(&status));
    for _ in 0..env.rounds {
        env.stop.check()?;
        env.load(service, &requests, WRITERS)?;
    }
    let log = service.config().sqlite().with_extension("sqlite-wal");
    let size = mib(fs::metadata(log)?.len());
    drop(export);
    env.add_value("slow-export, write-ahead log", size, "MiB", Some(AtMost(64.0)));
    Ok(())
}
