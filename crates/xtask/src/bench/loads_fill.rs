//! Loads, imported in batches.

use anyhow::Result;

use super::loads_data::batch;
use crate::client::{Answer, Body};
use crate::multipart::Form;
use crate::random::{Random, SEED};
use crate::service::Service;
use crate::stop::Stop;

const BATCH: usize = 50_000;
const PROOFS: usize = 500;

/// Batches by an administrator, and some proofs of delivery.
pub fn fill(service: &Service, rows: usize, stop: &Stop) -> Result<()> {
    let (admin, mut random) = (service.token(None), Random(SEED));
    let mut ids = Vec::new();
    for first in (0..rows).step_by(BATCH) {
        stop.check()?;
        let count = BATCH.min(rows - first);
        let answer = import(service, &admin, batch(&mut random, first, count))?;
        eprintln!("{:>9} loads imported", first + count);
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

/// Imports one batch.
pub fn import(service: &Service, token: &str, csv: Vec<u8>) -> Result<Answer> {
    let form =
        Form { fields: Vec::new(), file_name: "loads.csv", media_type: "text/csv", content: csv.into() };
    service.send("POST", "/v1/loads/batch", token, &Body::Form(form))
}
