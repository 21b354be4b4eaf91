//! Loads, imported in batches.

use anyhow::Result;
use serde_json::json;
use testkit::market::loads::csv_batch;
use testkit::market::random::{Random, SEED};
use testkit::processes::http::{Body, Form, Response};
use testkit::processes::interrupt::Interrupt;
use testkit::processes::service::ServiceProcess;

/// Rows of a batch.
const BATCH_SIZE: usize = 50_000;
/// Number of loads with a proof of delivery.
const PROOF_COUNT: usize = 500;

/// Imports loads as an administrator and adds proofs of delivery to the first ones.
pub fn create(service: &ServiceProcess, count: usize, stop: &Interrupt) -> Result<()> {
    let (admin, mut random) = (service.token(None), Random(SEED));
    let mut ids = Vec::new();
    for first in (0..count).step_by(BATCH_SIZE) {
        stop.check()?;
        let size = BATCH_SIZE.min(count - first);
        let response = import(service, &admin, csv_batch(&mut random, first, size))?;
        eprintln!("{:>9} loads imported", first + size);
        let created = response.json["ids"].as_array().into_iter().flatten();
        ids.extend(created.filter_map(|id| id.as_str().map(str::to_owned)).take(PROOF_COUNT));
    }
    for id in ids.iter().take(PROOF_COUNT) {
        let proof = json!({
            "weightNet": 28.4, "ticketNumber": "T-1", "vehicleRegistration": "VX21KLM", "files": null,
        });
        service.send("POST", &format!("/v1/loads/{id}/proof-of-delivery"), &admin, &Body::Json(proof))?;
    }
    Ok(())
}

/// Imports one batch.
pub fn import(service: &ServiceProcess, token: &str, csv: Vec<u8>) -> Result<Response> {
    let form =
        Form { fields: Vec::new(), file_name: "loads.csv", media_type: "text/csv", content: csv.into() };
    service.send("POST", "/v1/loads/batch", token, &Body::Form(form))
}
