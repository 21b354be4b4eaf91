//! `system` returns bad responses, disappears, stalls and slows down under logistics and livestock, which call it for
//! files.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use stack::environment::variables;
use stack::fixtures::{organised_load, upload};
use stack::http::Body;
use stack::service::ServiceProcess;
use stack::trial::Trial;

use super::fault::Fault;
use crate::chaos::wire::{BadResponse, Mode, TcpProxy};
use crate::traffic::{Request, Target, Workload};

/// Limit of a response: three attempts of two seconds with pauses between them.
const RESPONSE_LIMIT: Duration = Duration::from_secs(8);
/// Limit of a refusal while the circuit breaker is open.
const REFUSAL_LIMIT: Duration = Duration::from_millis(200);
/// Tenants that add proofs of delivery. Failed calls of three open the circuit breaker even if probes succeed.
const TENANTS: [&str; 3] = ["org-0", "org-1", "org-2"];
/// Loads of each tenant.
const LOADS: usize = 20;

/// Name, duration in seconds, whether `/readyz` shows it, and what happens to the connections to system. The readiness
/// check reads the head of a response only.
const FAULTS: [(&str, u64, bool, Mode); 8] = [
    ("system never responds", 10, true, Mode::Respond(BadResponse::Never)),
    ("system returns 500", 3, true, Mode::Respond(BadResponse::InternalError)),
    ("system sends half a body and stalls", 8, false, Mode::Respond(BadResponse::HalfThenStall)),
    ("system sends no HTTP", 3, true, Mode::Respond(BadResponse::NotHttp)),
    ("system sends another page", 3, false, Mode::Respond(BadResponse::OtherPage)),
    ("system unreachable", 3, true, Mode::Closed),
    ("system stalled", 8, true, Mode::Stalled),
    ("system sends ten bytes a second", 8, true, Mode::Trickle),
];

/// Runs all faults of system, or in the short form the first.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let system = Target::new(trial.service("system", "called-system", None, Vec::new())?)?;
    let proxy = TcpProxy::start(system.service.port())?;
    let start = |name| {
        let url = format!("http://127.0.0.1:{}", proxy.port());
        let environment = variables([("SERVICE__SYSTEM_URL", url)]);
        Target::new(trial.service(name, &format!("calling-{name}"), None, environment)?)
    };
    let (logistics, livestock) = (start("logistics")?, start("livestock")?);
    let ticket = system.client.write("ticket")?;
    let proofs = TENANTS.map(|tenant| proofs(&system.service, &logistics.service, tenant));
    let proofs = proofs.into_iter().collect::<Result<Vec<_>>>()?;
    for (name, seconds, is_shown, mode) in &FAULTS[..if trial.short { 1 } else { FAULTS.len() }] {
        // The usual traffic does not call system.
        let mut fault = Fault::new(trial, *name, vec![&logistics, &livestock])
            .lasting(Duration::from_secs(if trial.short { 5 } else { *seconds }))
            .responses_within(RESPONSE_LIMIT)
            .refusing()
            .shown_as(is_shown.then_some("system"))
            .unaffected(|_| true);
        for target in [&logistics, &livestock] {
            fault.workloads.push(target.client.writes_with_file(&fault.prefix, &ticket));
        }
        fault.workloads.extend(proofs.iter().map(|proofs| proofs()));
        let records = fault.run_at(&proxy, *mode)?;
        let median = records.median_refusal().context("the circuit breaker refused no request")?;
        let limit = if trial.short { 5 * REFUSAL_LIMIT } else { REFUSAL_LIMIT };
        trial.expect(
            median < limit,
            format!("{name}: median refusal once the circuit breaker is open"),
            format!("{} ms", median.as_millis()),
            format!("{} ms", limit.as_millis()),
        )?;
    }
    Ok(())
}

/// Uploads a file and creates loads of a tenant, and returns the workload that proves their delivery in turn.
fn proofs(
    system: &ServiceProcess,
    logistics: &ServiceProcess,
    tenant: &str,
) -> Result<impl Fn() -> Workload> {
    let token = logistics.token(Some(tenant));
    let create = |service: &ServiceProcess, path, body| {
        let response = service.send("POST", path, &token, &body)?;
        response.json["id"].as_str().map(str::to_owned).with_context(|| format!("{path} returned no id"))
    };
    let ticket = create(system, "/v1/files", Body::Form(upload("ticket", "29.4")))?;
    let proof = json!({
        "weightNet": 28.6, "ticketNumber": "T-1", "vehicleRegistration": "VX21KLM", "files": [{ "id": ticket }],
    });
    let load = organised_load(tenant, "PROOF", &Value::Null);
    let create_load = |_| {
        let id = create(logistics, "/v1/loads/organiser", Body::Json(load.clone()))?;
        Ok(logistics.url(&format!("/v1/loads/{id}/proof-of-delivery")))
    };
    let urls = (0..LOADS).map(create_load).collect::<Result<Vec<_>>>()?;
    Ok(move || {
        let (urls, token, proof) = (urls.clone(), token.clone(), proof.clone());
        let request = move |number: usize| {
            Request::new("POST", &urls[number % urls.len()], &token, Body::Json(proof.clone()))
        };
        Workload::new("logistics", "proof", request, |r| r.json["files"][0]["name"] == "ticket")
    })
}
