//! The S3 store returns bad responses, disappears and stalls under `system`.

use std::time::Duration;

use anyhow::{Context, Result};
use stack::environment::variables;
use stack::servers::S3;
use stack::trial::Trial;

use super::fault::Fault;
use crate::chaos::wire::{BadResponse, Mode, TcpProxy};
use crate::traffic::Target;

/// Limit of an upload, which calls the store up to three times: to check, to store, to abort.
const UPLOAD_LIMIT: Duration = Duration::from_secs(13);
/// Size of a large file in bytes: more than one part of an upload.
const LARGE: usize = 6 << 20;

/// Name, duration in seconds, and what happens to the connections to S3.
const FAULTS: [(&str, u64, Mode); 7] = [
    ("S3 returns 500", 2, Mode::Respond(BadResponse::InternalError)),
    ("S3 never responds", 9, Mode::Respond(BadResponse::Never)),
    ("S3 sends half a body and stalls", 5, Mode::Respond(BadResponse::HalfThenStall)),
    ("S3 sends half a body and closes", 3, Mode::Respond(BadResponse::HalfThenClose)),
    ("S3 sends no HTTP", 3, Mode::Respond(BadResponse::NotHttp)),
    ("S3 unreachable, uploads cut in the middle", 3, Mode::Closed),
    ("S3 stalled in the middle of requests", 7, Mode::Stalled),
];

/// Runs all faults of S3, or in the short form the first two.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let mut environment = trial.servers.s3_variables();
    let (_, endpoint) = environment
        .iter_mut()
        .find(|(name, _)| name == "AWS_ENDPOINT_URL")
        .context("the S3 server has no endpoint")?;
    let port = endpoint.rsplit(':').next().and_then(|port| port.parse().ok());
    let proxy = TcpProxy::start(port.context("the endpoint of the S3 server has no port")?)?;
    *endpoint = format!("http://127.0.0.1:{}", proxy.port());
    environment.extend(variables([("SERVICE__STORE_URL", S3::place("faults"))]));
    let database = trial.databases.create("system")?;
    let target = Target::new(trial.service("system", "s3", Some(database), environment)?)?;
    for (name, seconds, mode) in &FAULTS[..if trial.short { 2 } else { FAULTS.len() }] {
        // A file's information needs no content. The readiness check reads the head of a response only.
        let mut fault = Fault::new(trial, *name, vec![&target])
            .lasting(Duration::from_secs(if trial.short { (*seconds).min(5) } else { *seconds }))
            .responses_within(UPLOAD_LIMIT)
            .refusing()
            .shown_as((!name.contains("half")).then_some("store"))
            .unaffected(|workload| workload.name == "file info");
        for workload in fault.workloads.iter_mut().filter(|workload| workload.name == "download") {
            workload.streamed = true;
        }
        if !trial.short {
            fault.workloads.push(target.client.large_uploads(&fault.prefix, LARGE));
        }
        fault.run_at(&proxy, *mode)?;
    }
    Ok(())
}
