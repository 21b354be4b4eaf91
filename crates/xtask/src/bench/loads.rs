//! Loads: how fast batches go in, then what each kind of search takes, seen from the client, beside a constant answer.

use anyhow::Result;

use super::loads_data::{LARGE, MEDIUM, RARE, batch};
use super::measure::Measured;
use super::questions::{self, CONSTANT, Question};
use super::random::Random;
use crate::cli::BenchArgs;
use crate::client::Body;
use crate::multipart::Form;
use crate::stop::Stop;

const BATCH: usize = 50_000;
const PROOFS: usize = 500;

/// Fills a database with loads and asks each kind of question of it.
pub fn run(args: &BenchArgs, stop: &Stop) -> Result<()> {
    let service = Measured::start("logistics", args.database.as_deref(), stop)?;
    fill(&service, args.rows, stop)?;
    questions::ask(&service, &questions(&service)?, args.requests, stop)?;
    service.finish().map(drop)
}

/// Batches by an administrator, and some proofs of delivery.
fn fill(service: &Measured, rows: usize, stop: &Stop) -> Result<()> {
    let (admin, mut random) = (service.token(None), Random(0x2545_f491_4f6c_dd1d));
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

fn questions(service: &Measured) -> Result<Vec<Question>> {
    let [large, medium] = [LARGE, MEDIUM].map(|org| service.token(Some(org)));
    let (some, _) = service.send("GET", "/v1/loads?limit=50", &large, &Body::Empty)?;
    let ids: Vec<_> =
        some.json.as_array().into_iter().flatten().filter_map(|load| load["id"].as_str()).collect();
    let search = |query: &str| format!("/v1/loads?{query}");
    let cursor = questions::cursor(service, &search("limit=100&offset=20000"), &large)?;
    let mut asked = vec![(CONSTANT, large.clone(), "/healthz".to_owned())];
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
