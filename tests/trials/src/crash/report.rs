//! The table of results.

use anyhow::Result;
use testkit::processes::trial::Trial;

use super::checks::shares::SHARE_TIMEOUT;
use super::findings::{Findings, WriteKind};
use super::rounds::Rounds;

/// Minimum number of acknowledged single creates in the long form, on each database.
const MIN_CREATES: usize = 5_000;
/// Limit of the time until a service is ready after a kill, in seconds.
const MAX_RESTART_SECONDS: u64 = 15;

/// Adds the results of all rounds to the table, and fails if one is outside its limit.
pub fn report(rounds: &Rounds<'_>) -> Result<()> {
    let Rounds { services, records, findings, shares, .. } = rounds;
    let trial = services.trial;
    let database = if services.is_postgres { "PostgreSQL" } else { "SQLite" };
    let note = |check: &str, result: String| trial.note(format!("{database}: {check}"), result, "");
    note("rounds", records.len().to_string());
    note("processes killed", services.kills.to_string());
    for kind in WriteKind::ALL {
        let counts = findings.writes(kind);
        let result = format!("{}, {}", counts.unknown, counts.unknown_stored);
        note(&format!("{} without a response, of which stored", kind.name()), result);
    }
    let rows: usize = records.iter().flat_map(|records| &records.batches).map(|batch| batch.rows).sum();
    note("loads in batches", rows.to_string());
    note("contents without a record after a round, at most", rounds.max_orphans.to_string());
    note("contents without a record at the end, removed by sweep-files", rounds.swept.to_string());
    note("interrupted uploads after a round, at most, all removed", rounds.max_staged.to_string());
    let files = format!("{}, {}", shares.shared, shares.private);
    note("files that the other organisation may open, that it may not", files);

    let mut failures = Vec::new();
    let mut expect = |is_right, check: &str, result: String, limit: &str| {
        failures.extend(trial.expect(is_right, format!("{database}: {check}"), result, limit).err());
    };
    let restart = services.slowest_restart;
    expect(
        restart.as_secs() < MAX_RESTART_SECONDS,
        "slowest restart until ready",
        format!("{} ms", restart.as_millis()),
        &format!("{MAX_RESTART_SECONDS} s"),
    );
    expect(
        shares.duration < SHARE_TIMEOUT,
        "longest time until shares were right after a restart",
        format!("{:.1} s", shares.duration.as_secs_f64()),
        &format!("{} s", SHARE_TIMEOUT.as_secs()),
    );
    let creates: usize =
        [WriteKind::Load, WriteKind::Listing].map(|kind| findings.writes(kind).acknowledged).iter().sum();
    let min_creates = if trial.short { 1 } else { MIN_CREATES };
    let limit = format!("{min_creates} or more");
    expect(creates >= min_creates, "acknowledged single creates", creates.to_string(), &limit);
    failures.extend(expect_nothing_lost(trial, database, findings, &rounds.damage).err());
    failures.into_iter().next().map_or(Ok(()), Err)
}

/// Adds the writes and the violations to the table, and fails if there is a violation or no write of some kind.
pub fn expect_nothing_lost(
    trial: &Trial<'_>,
    database: &str,
    findings: &Findings,
    damage: &[String],
) -> Result<()> {
    let mut failures = Vec::new();
    let mut expect = |is_right, check: &str, result: String, limit: &str| {
        failures.extend(trial.expect(is_right, format!("{database}: {check}"), result, limit).err());
    };
    let ledger = &findings.ledger;
    for (check, count) in [
        ("acknowledged and lost", ledger.lost),
        ("duplicated", ledger.duplicated),
        ("partly stored", ledger.corrupted),
    ] {
        expect(count == 0, check, count.to_string(), "0");
    }
    let found = if damage.is_empty() { "none".into() } else { damage.join("; ") };
    expect(damage.is_empty(), "findings of integrity_check, foreign_key_check", found, "none");
    for kind in WriteKind::ALL {
        let count = findings.writes(kind).acknowledged;
        expect(count > 0, &format!("acknowledged {}", kind.name()), count.to_string(), "1 or more");
    }
    failures.into_iter().next().map_or(Ok(()), Err)
}
