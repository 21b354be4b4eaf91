//! Loads: how fast batches go in, then what each kind of search takes, seen from the client, beside a constant answer.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::geo::Random;
use super::loads_data::{LARGE, MEDIUM, RARE, batch};
use super::measure::{Measured, percentile};
use crate::cli::BenchArgs;
use crate::client::Body;
use crate::keys::DevKeys;
use crate::multipart::Form;
use crate::services::Place;
use crate::stop::Stop;
use crate::token::Identity;
use crate::{build_release, ports, table};

const BATCH: usize = 50_000;
const PROOFS: usize = 500;
/// Enough to tell the median of a slow question.
const LONGEST: Duration = Duration::from_secs(5);

/// Fills a database with loads and asks each kind of question of it.
pub fn run(args: &BenchArgs, stop: &Stop) -> Result<()> {
    let binaries = build_release::release(stop)?;
    let data = tempfile::Builder::new().prefix("drover-bench-").tempdir().context("set TMPDIR")?;
    let [port] = ports::find_free()?;
    let place = Place { data: data.path().to_owned(), port, database: args.database.clone() };
    let keys = DevKeys::load_or_create(&place.data)?;
    let service = Measured::start(place, "logistics", &binaries, stop)?;
    fill(&service, &keys, args.rows, stop)?;
    let questions = questions(&service, &keys)?;
    let mut rows = Vec::new();
    let mut constant = 0.0;
    for (kind, token, path) in &questions {
        let times = times(&service, token, path, args.requests, stop)?;
        let median = percentile(&times, 50);
        if rows.is_empty() {
            constant = median;
        }
        rows.push([
            (*kind).to_owned(),
            times.len().to_string(),
            format!("{median:.2}"),
            format!("{:.2}", percentile(&times, 99)),
            format!("{:.1}", median / constant),
        ]);
    }
    println!("{}", table::render(["question", "asked", "median", "99 of 100", "ratio"], &rows));
    println!("Milliseconds from the client, and how many times a constant answer's median that is.");
    if let Some(resident) = service.resident() {
        println!("Resident memory {resident} MiB after all of this.");
    }
    service.finish().map(drop)
}

/// Batches by an administrator, and some proofs of delivery.
fn fill(service: &Measured, keys: &DevKeys, rows: usize, stop: &Stop) -> Result<()> {
    let (admin, mut random) = (token(keys, None), Random(0x2545_f491_4f6c_dd1d));
    let mut ids = Vec::new();
    for first in (0..rows).step_by(BATCH) {
        stop.check()?;
        let count = BATCH.min(rows - first);
        let form = Form {
            fields: Vec::new(),
            file_name: "loads.csv",
            media_type: "text/csv",
            content: batch(&mut random, first, count).into(),
        };
        let (answer, ms) = service.send("POST", "/v1/loads/batch", &admin, &Body::Form(form))?;
        println!("{:>9} loads: a batch of {count} in {:.1} s", first + count, ms / 1000.0);
        let made = answer.json["ids"].as_array().into_iter().flatten();
        ids.extend(made.filter_map(|id| id.as_str().map(str::to_owned)).take(PROOFS));
    }
    for id in ids.iter().take(PROOFS) {
        let proof = serde_json::json!({
            "weightNet": 28.4, "ticketNumber": "T-1", "vehicleRegistration": "VX21KLM", "files": null,
        });
        service.send("POST", &format!("/v1/loads/{id}/proof-of-delivery"), &admin, &Body::Json(proof))?;
    }
    Ok(())
}

/// A name for the question, whose it is, and its path.
type Question = (&'static str, String, String);

fn questions(service: &Measured, keys: &DevKeys) -> Result<Vec<Question>> {
    let (large, medium) = (token(keys, Some(LARGE)), token(keys, Some(MEDIUM)));
    let (some, _) = service.send("GET", "/v1/loads?limit=50", &large, &Body::Empty)?;
    let ids: Vec<_> =
        some.json.as_array().into_iter().flatten().filter_map(|load| load["id"].as_str()).collect();
    let search = |query: &str| format!("/v1/loads?{query}");
    let (deep, _) = service.send("GET", &search("limit=100&offset=20000"), &large, &Body::Empty)?;
    let cursor = deep.header("link").split("cursor=").nth(1).and_then(|rest| rest.split(['>', '&']).next());
    let cursor = cursor.unwrap_or_default();
    let mut asked = vec![("a constant answer", large.clone(), "/healthz".to_owned())];
    asked.push(("newest 20 of many", large.clone(), search("")));
    for (kind, query) in [
        ("newest 20", String::new()),
        ("newest 100", "limit=100".into()),
        ("by delivery date", "sortBy=deliveryDateISO".into()),
        ("a month's deliveries", "startDateISO=2025-06-01&endDateISO=2025-06-30".into()),
        ("upcoming, by delivery", "f:status=upcoming&sortBy=deliveryDateISO".into()),
        ("completed, newest", "f:status=completed".into()),
        ("of a carrier", "f:carrierId=haul-7".into()),
        ("a reference", "query=ref-0000100".into()),
        ("a rare word", format!("query={}", RARE.0)),
        ("a common word", "query=wheat".into()),
        ("two words", "query=wheat%20ledbury".into()),
        ("two letters", "query=wh".into()),
        ("no such word", "query=zebra".into()),
        ("by reference", "sortBy=reference".into()),
        ("by commodity", "sortBy=commodity".into()),
        ("by weight", "sortBy=weight&sortDesc=true".into()),
        ("offset 10000", "offset=10000".into()),
        ("counted", "count=true".into()),
        ("CSV of 1000", "format=CSV&limit=1000".into()),
    ] {
        asked.push((kind, medium.clone(), search(&query)));
    }
    asked.push(("after 20000, by cursor", large.clone(), search(&format!("cursor={cursor}"))));
    asked.push(("50 by ids", large.clone(), format!("/v1/loads/by-ids?ids={}", ids.join(","))));
    asked.push(("CSV of all", large.clone(), search("format=CSV")));
    asked.push(("CSV of all by weight", large.clone(), search("format=CSV&sortBy=weight")));
    asked.push(("completed export", large, "/v1/loads/completed".into()));
    Ok(asked)
}

/// Milliseconds, one by one.
fn times(service: &Measured, token: &str, path: &str, most: usize, stop: &Stop) -> Result<Vec<f64>> {
    let begun = Instant::now();
    let mut times = Vec::new();
    while times.len() < most && begun.elapsed() < LONGEST {
        stop.check()?;
        times.push(service.send("GET", path, token, &Body::Empty)?.1);
    }
    Ok(times)
}

/// An hour's token of somebody of this organisation; of an administrator without one.
fn token(keys: &DevKeys, org: Option<&str>) -> String {
    let admin = ["admin".to_owned()];
    let roles: &[String] = if org.is_none() { &admin } else { &[] };
    let who = Identity { user: "bench", name: None, org, org_name: None, roles };
    who.token(keys, Duration::from_secs(3600))
}
