//! Files that are shared with as many organisations as are taken, and loads that name these files.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use super::{ATTACKER, THREADS, Tenants, end, load};
use crate::abuse::socket::Ends;
use crate::abuse::stage::upload;
use crate::client::Body;

const RESOLVE: &str = "/v1/files/resolve";
/// As many as one call or one load may name.
const FILES: usize = 50;
/// As many as one call may name.
const NAMES: usize = 50;
/// A file is shared with at most so many organisations.
const MAX_ORGANISATIONS: usize = 200;
/// Bytes of an answer that has 50 files, each shared with 200 organisations of 200 characters of 4 bytes, and 1 MiB.
const MAX_ANSWER: usize = FILES * MAX_ORGANISATIONS * 803 + (1 << 20);

/// Shares 50 files with 50 long names more in each call. Gives their ids.
pub fn files(tenants: &Tenants<'_>) -> Result<Vec<String>> {
    let (victim, calls) = (&tenants.system, if tenants.is_short() { 8 } else { 60 });
    let ids = uploads(tenants)?;
    let allowed = ["shared 200", "past 200 organisations 400 length at shareWith", "resolved 200"];
    let what = format!("50 files shared with {} long names, 50 in each of {calls} calls", calls * NAMES);
    let (mut longest, mut slowest) = (0, Duration::ZERO);
    tenants.abuse(&what, victim, &allowed, || {
        let mut ends = Ends::default();
        for call in 0..=calls {
            tenants.stage.trial.check()?;
            let names: Vec<_> =
                (call * NAMES..(call + 1) * NAMES).map(|n| format!("{}{n:05}", "🐑".repeat(195))).collect();
            let (kind, body) = match call {
                _ if call == calls => ("resolved", json!({"ids": ids})),
                _ if call * NAMES < MAX_ORGANISATIONS => ("shared", json!({"ids": ids, "shareWith": names})),
                _ => ("past 200 organisations", json!({"ids": ids, "shareWith": names})),
            };
            let begun = Instant::now();
            let answer = tenants.attack(victim, RESOLVE, Body::Json(body))?;
            ends.add(format!("{kind} {}", end(&answer)));
            (longest, slowest) = (longest.max(answer.bytes.len()), slowest.max(begun.elapsed()));
        }
        Ok(ends)
    })?;
    tenants.expect(
        longest <= MAX_ANSWER,
        victim,
        "the longest answer about 50 files that are shared with many",
        format!("{:.1} MiB, after {:.1} s at most", mib(longest), slowest.as_secs_f64()),
        format!("{:.1} MiB", mib(MAX_ANSWER)),
    )?;
    Ok(ids)
}

/// Creates loads that name these files, while the honest organisation creates loads with a file.
pub fn loads(tenants: &Tenants<'_>, ids: &[String]) -> Result<()> {
    let victim = &tenants.logistics;
    let body = load(ATTACKER, &ids.iter().map(String::as_str).collect::<Vec<_>>());
    let (threads, count) = if tenants.is_short() { (2, 8) } else { (THREADS, 200) };
    let what = format!("{count} loads that name 50 files, each shared with 200 organisations of long names");
    // One whose files take too long is refused; nobody else is.
    let ends = &["200", "503"];
    tenants.abuse(&what, victim, ends, || {
        let create = || tenants.attack(victim, "/v1/loads/organiser", Body::Json(body.clone()));
        tenants.repeat(threads, count, |_| Ok(end(&create()?)))
    })
}

fn uploads(tenants: &Tenants<'_>) -> Result<Vec<String>> {
    let system = &tenants.system;
    (0..FILES).map(|n| upload(&system.service, &system.token, format!("ticket {n}").into_bytes())).collect()
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn mib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
