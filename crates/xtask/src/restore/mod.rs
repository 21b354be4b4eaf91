//! `restore`: the three services are backed up while they are written to, lost, and restored, by the commands of
//! docs/operations.md as they stand there. What was acknowledged before has to be there, every byte of it; and the
//! services have to go on from there as if nothing had happened, on PostgreSQL in a cluster that is new.

mod going_on;
mod known;
mod page;
mod stage;

use std::thread::scope;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};

use self::going_on::GoingOn;
use self::known::{Known, SYSTEM};
use self::stage::Stage;
use crate::trial::Trial;

/// Content without a record is removed when it is so old, in seconds.
const GRACE: &str = "1";
/// A notification that was pending is delivered by then, however often it was tried before.
const DELIVERED: Duration = Duration::from_secs(240);

/// Both databases.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    for postgres in [false, true] {
        drill(trial, postgres)?;
    }
    Ok(())
}

fn drill(trial: &Trial<'_>, postgres: bool) -> Result<()> {
    let name = if postgres { "PostgreSQL, bucket" } else { "SQLite, folder" };
    // Of what has failed already where it is not as allowed.
    let note = |what: &str, figure: String, allowed: &str| {
        trial.note(format!("{name}: {what}"), figure, allowed);
    };
    let seconds = |since: Instant| format!("{:.1} s", since.elapsed().as_secs_f64());
    let mut stage = Stage::start(trial, postgres)?;
    let known = Known::fill(&stage)?;
    let (going_on, rounds) = (GoingOn::default(), if trial.short { 5 } else { 300 });
    let least = scope(|scope| {
        let writer = scope.spawn(|| {
            let written = going_on.write(&stage);
            going_on.end();
            written
        });
        let backed_up = going_on.wait(rounds).and_then(|()| {
            let (least, begun) = (going_on.written(), Instant::now());
            stage.run("backup")?;
            note("backup under writes", seconds(begun), "all commands succeed");
            going_on.wait(5)?;
            Ok(least)
        });
        going_on.end();
        writer.join().map_err(|_| anyhow!("the writer panicked"))??;
        backed_up
    })?;
    stage.destroy()?;
    let begun = Instant::now();
    stage.run("restore")?;
    note("restore", seconds(begun), "all commands succeed");
    stage.receiver.refuse(false);
    stage.start_again()?;

    note("answers as they were, to the byte", known.compare(&stage)?.to_string(), "all");
    let [loads, listings] = GoingOn::look(&stage, least)?;
    let there =
        format!("{least} before the backup, {} in all; {loads} and {listings} there", going_on.written());
    let allowed = format!("{least} or more each, without a gap, files with them");
    note("loads and listings written meanwhile", there, &allowed);
    note("writes under a key replayed", known.repeat(&stage)?.to_string(), "all");
    outbox(&stage, &known)?;
    note(
        "notifications delivered then, not again",
        format!("{} and {}", known.pending.len(), known.delivered.len()),
        "each once in all",
    );
    known.grow(&stage)?;
    note("new writes found, counted and told", "all".to_owned(), "all");
    trial.pause(Duration::from_secs(2))?;
    let swept = stage.services[SYSTEM]
        .command(&["sweep-files"], &[("DROVER_SERVICE__SWEEP_GRACE_SECONDS", GRACE)])?;
    let swept =
        swept.lines().find(|line| line.contains("contents checked")).context("sweep-files says nothing")?;
    GoingOn::look(&stage, least)?;
    note("sweep-files", swept.to_owned(), "every file of a load is still there");
    if let Some(server) = &stage.server {
        let indexes = "SELECT count(*) FROM pg_indexes WHERE schemaname = 'logistics' AND indexdef LIKE '%logistics.gin_trgm_ops%'";
        ensure!(
            trial.databases.ask(&server.all(), "", indexes)?.trim() == "1",
            "the trigrams' index is not there"
        );
    }
    for service in &stage.services {
        let errors = service.errors();
        ensure!(errors.is_empty(), "{} logged {errors:?}", service.name);
    }
    Ok(())
}

/// What was pending is delivered, once; what was delivered before is not delivered again.
fn outbox(stage: &Stage<'_>, known: &Known) -> Result<()> {
    let all = || stage.receiver.delivered();
    stage.trial.wait_for("what was pending to be delivered", DELIVERED, || {
        Ok(known.pending.iter().all(|id| all().contains_key(id)))
    })?;
    let again: Vec<_> = all().into_iter().filter(|(_, times)| *times != 1).collect();
    ensure!(
        again.is_empty() && all().len() == known.pending.len() + known.delivered.len(),
        "delivered again: {again:?}"
    );
    Ok(())
}
