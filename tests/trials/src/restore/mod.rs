//! `restore`: backs up the three services under writes, destroys their data and restores it, with the commands of
//! docs/operations as they stand there. Everything acknowledged before the backup must be restored byte by byte, and
//! the services must continue from there. PostgreSQL is restored into a new cluster.

mod deployment;
mod snapshot;
mod writes;

use std::thread::scope;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use testkit::processes::trial::Trial;

pub use self::deployment::BLOCKS;
use self::deployment::{Deployment, SYSTEM};
use self::snapshot::Snapshot;
use self::writes::{BackgroundWriter, check_new_writes, check_stored};

/// Minimum age in seconds of contents without a record that `sweep-files` removes.
const SWEEP_GRACE: &str = "1";
/// Time within which a pending notification is delivered, however often it was tried before.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(240);
/// Background writes before the backup in the long and the short form, and after it.
const WRITES_BEFORE: [usize; 2] = [300, 5];
const WRITES_AFTER: usize = 5;
/// Counts the trigram index of loads.
const COUNT_INDEXES: &str = "SELECT count(*) FROM pg_indexes WHERE schemaname = 'logistics' \
                             AND indexdef LIKE '%logistics.gin_trgm_ops%'";

/// Runs the trial with SQLite and a folder, and with PostgreSQL and a bucket.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    for is_postgres in [false, true] {
        restore(trial, is_postgres)?;
    }
    Ok(())
}

fn restore(trial: &Trial<'_>, is_postgres: bool) -> Result<()> {
    let stores = if is_postgres { "PostgreSQL, bucket" } else { "SQLite, folder" };
    let note = |check: &str, result: String, limit: &str| {
        trial.note(format!("{stores}: {check}"), result, limit);
    };
    let seconds = |since: Instant| format!("{:.1} s", since.elapsed().as_secs_f64());
    let mut deployment = Deployment::start(trial, is_postgres)?;
    let snapshot = Snapshot::create(&deployment)?;
    let writer = BackgroundWriter::default();
    let min = scope(|scope| {
        let thread = scope.spawn(|| {
            let result = writer.run(&deployment);
            writer.stop();
            result
        });
        let backup = || {
            writer.wait(trial, WRITES_BEFORE[usize::from(trial.short)])?;
            let (min, begun) = (writer.written(), Instant::now());
            deployment.run_block("backup")?;
            note("duration of the backup under writes", seconds(begun), "all commands succeed");
            writer.wait(trial, WRITES_AFTER)?;
            Ok(min)
        };
        let min: Result<usize> = backup();
        writer.stop();
        thread.join().map_err(|_| anyhow!("the background writer panicked"))??;
        min
    })?;
    deployment.destroy()?;
    let begun = Instant::now();
    deployment.run_block("restore")?;
    note("duration of the restore", seconds(begun), "all commands succeed");
    deployment.receiver.set_refusing(false);
    deployment.start_services()?;

    note("responses equal to the byte", snapshot.compare(&deployment)?.to_string(), "all");
    let [loads, listings] = check_stored(&deployment, min)?;
    note(
        "background writes before the backup, in all; loads, listings restored",
        format!("{min}, {}; {loads}, {listings}", writer.written()),
        &format!("{min} or more of each, without a gap, with their files"),
    );
    note("writes replayed under their keys", snapshot.replay(&deployment)?.to_string(), "all");
    check_notifications(&deployment, &snapshot)?;
    note(
        "pending notifications, delivered once; delivered ones, not delivered again",
        format!("{}; {}", snapshot.pending.len(), snapshot.delivered.len()),
        "each once",
    );
    check_new_writes(&deployment, &snapshot.active_listings[0])?;
    note("later writes found, counted, and present as events", "all".into(), "all");
    trial.pause(Duration::from_secs(2))?; // longer than the grace of the sweep
    let output = deployment.services[SYSTEM]
        .command(&["sweep-files"], &[("DROVER_SERVICE__SWEEP_GRACE_SECONDS", SWEEP_GRACE)])?;
    let summary = output.lines().find(|line| line.contains("contents checked"));
    let summary = summary.with_context(|| format!("sweep-files has no summary: {output}"))?;
    check_stored(&deployment, min)?;
    note("sweep-files", summary.into(), "every file of a load is left");
    if let Some(server) = &deployment.postgres {
        let indexes = trial.databases.execute(&server.admin_url(), "", COUNT_INDEXES)?;
        ensure!(indexes.trim() == "1", "the trigram index of loads is missing");
    }
    for service in &deployment.services {
        let errors = service.errors();
        ensure!(errors.is_empty(), "{} logged {errors:?}", service.name);
    }
    Ok(())
}

/// Checks that each notification is delivered exactly once: pending ones after the restore, the others before it.
fn check_notifications(deployment: &Deployment<'_>, snapshot: &Snapshot) -> Result<()> {
    let deliveries = || deployment.receiver.deliveries();
    deployment.trial.wait_for("pending notifications are delivered", DELIVERY_TIMEOUT, || {
        Ok(snapshot.pending.iter().all(|id| deliveries().contains_key(id)))
    })?;
    let all = deliveries();
    let repeated: Vec<_> = all.iter().filter(|(_, count)| **count != 1).collect();
    let is_complete = all.len() == snapshot.pending.len() + snapshot.delivered.len();
    ensure!(repeated.is_empty() && is_complete, "delivered again: {repeated:?} of {all:?}");
    Ok(())
}
