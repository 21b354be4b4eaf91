//! Files that are shared with many organisations, and loads with these files.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;
use stack::fixtures::upload;
use stack::http::Body;

use super::{ATTACKER, MEMORY, THREADS, Tenants, load, outcome};
use crate::abuse::outcomes::Outcomes;
use crate::abuse::services::create;
use crate::abuse::target::Limits;

/// Limit of the files of a request or a load.
const MAX_FILES: usize = 50;
/// Limit of the organisations that a request shares files with.
const MAX_NAMES: usize = 50;
/// Limit of the organisations that a file is shared with.
const MAX_ORGANISATIONS: usize = 200;
/// Size in bytes of a response about 50 files, each shared with 200 organisations of 200 characters of 4 bytes, and
/// 1 MiB.
const MAX_RESPONSE_SIZE: usize = MAX_FILES * MAX_ORGANISATIONS * 803 + (1 << 20);

/// Shares 50 files with 50 more long names in each request. Returns the ids of the files.
pub fn share(tenants: &Tenants<'_>) -> Result<Vec<String>> {
    let (target, requests) = (&tenants.system, if tenants.trial.short { 8 } else { 60 });
    let upload = |number| Body::Form(upload("a", format!("ticket {number}")));
    let create = |number| create(&target.service, "/v1/files", &target.token, upload(number));
    let ids = (0..MAX_FILES).map(create).collect::<Result<Vec<_>>>()?;
    let attack = format!(
        "50 files shared with {} names of 200 characters in {requests} requests",
        requests * MAX_NAMES
    );
    let outcomes = &["shared 200", "more than 200 organisations 400 length at shareWith", "resolved 200"];
    let (mut longest, mut slowest) = (0, Duration::ZERO);
    target.attack(&attack, &Limits { outcomes, memory: MEMORY }, || {
        let mut outcomes = Outcomes::default();
        for number in 0..=requests {
            tenants.trial.check()?;
            let first = number * MAX_NAMES;
            let names: Vec<_> =
                (first..first + MAX_NAMES).map(|name| format!("{}{name:05}", "🐑".repeat(195))).collect();
            let share = json!({"ids": ids, "shareWith": names});
            let (kind, body) = match number {
                _ if number == requests => ("resolved", json!({ "ids": ids })),
                _ if first < MAX_ORGANISATIONS => ("shared", share),
                _ => ("more than 200 organisations", share),
            };
            let begun = Instant::now();
            let response = tenants.post(target, "/v1/files/resolve", Body::Json(body))?;
            outcomes.add(format!("{kind} {}", outcome(&response)));
            (longest, slowest) = (longest.max(response.bytes.len()), slowest.max(begun.elapsed()));
        }
        Ok(outcomes)
    })?;
    target.expect(
        longest <= MAX_RESPONSE_SIZE,
        "longest and slowest response about the 50 shared files",
        format!("{:.1} MiB, {:.1} s", mib(longest), slowest.as_secs_f64()),
        format!("{:.1} MiB", mib(MAX_RESPONSE_SIZE)),
    )?;
    Ok(ids)
}

/// Creates loads with these files, while the honest organisation creates loads with a file.
pub fn create_loads(tenants: &Tenants<'_>, ids: &[String]) -> Result<()> {
    let target = &tenants.logistics;
    let body = load(ATTACKER, ids);
    let (threads, count) = if tenants.trial.short { (2, 8) } else { (THREADS, 200) };
    let attack = format!("{count} loads with 50 files, each shared with 200 organisations");
    // The service may refuse a load of the attacker whose files take too long.
    target.attack(&attack, &Limits { outcomes: &["200", "503"], memory: MEMORY }, || {
        let create = || tenants.post(target, "/v1/loads/organiser", Body::Json(body.clone()));
        tenants.repeat(threads, count, |_| Ok(outcome(&create()?)))
    })
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn mib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
