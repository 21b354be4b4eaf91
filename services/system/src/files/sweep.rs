//! Removing content that no file has: what a crash, or a database that was out of reach, left between a content and
//! its record. Why this takes nothing from anybody is said in [`content`](super::content).

use std::time::{Duration, SystemTime};

use clap::{Arg, ArgAction, ArgMatches, Command};
use common::Error;
use database::Database;
use futures_util::TryStreamExt;

use super::content::{ContentStore, Found, Name};
use super::store;
use crate::{Settings, System};

/// The name of the command.
pub(crate) const COMMAND: &str = "sweep-files";
const DRY_RUN: &str = "dry-run";
/// How many contents are looked at between two lines of progress.
const PROGRESS: u64 = 100_000;
/// As many contents without a file are nothing strange, nor is one in fifty.
const MAX_ORPHANS: u64 = 20;
const DAY: Duration = Duration::from_secs(24 * 3600);

/// What a sweep came to.
#[derive(Debug, Default)]
struct Swept {
    looked_at: u64,
    removed: u64,
    bytes: u64,
}

/// `system sweep-files`
pub(crate) fn command() -> Command {
    let dry_run = Arg::new(DRY_RUN).long(DRY_RUN).action(ArgAction::SetTrue);
    common::cli::command(
        COMMAND,
        "Removes file contents that no file has, once they are older than service.sweep_grace_seconds",
        [
            "database.url and service.store_url; it may run beside the service",
            "when all were looked at",
            "sweep-files --dry-run",
        ],
    )
    .arg(dry_run.help("Lists them and removes nothing"))
}

/// Runs the command.
pub(crate) async fn run(arguments: &ArgMatches, settings: &Settings, db: Database) -> anyhow::Result<()> {
    let store = ContentStore::open(settings).await?;
    let (dry_run, mut told) = (arguments.get_flag(DRY_RUN), 0);
    let swept = sweep(&db, &store, settings.grace(), !dry_run, |swept, forgotten| {
        for Found { name, size, .. } in forgotten {
            println!("{} {size}", name.as_str());
        }
        if swept.looked_at >= told + PROGRESS {
            told = swept.looked_at;
            eprintln!("{told} contents looked at so far");
        }
    });
    let Swept { looked_at, removed, bytes } = swept.await?;
    let done = if dry_run { "would be removed" } else { "removed" };
    println!("{looked_at} contents looked at, {removed} of them {done}: {bytes} bytes");
    if !dry_run {
        println!("{} uploads that a crash had cut off removed", store.tidy().await?);
    }
    Ok(())
}

/// Sweeps when the service starts, again when what was left behind right before that has come of age, and then once
/// a day.
pub(crate) async fn regularly(system: &System) {
    for wait in [Duration::ZERO, system.grace()].into_iter().chain(std::iter::repeat(DAY)) {
        tokio::time::sleep(wait).await;
        match sweep_unless_strange(system).await {
            Ok(Swept { looked_at, removed, bytes }) => {
                tracing::info!(looked_at, removed, bytes, "file contents without a file are removed");
            }
            Err(error) => tracing::warn!(
                error = format!("{:#}", anyhow::Error::from(error)),
                "file contents could not be swept; system sweep-files does so too"
            ),
        }
    }
}

/// Crashes leave little behind. Where much has no file this is more likely the wrong database or somebody else's
/// store: then only the command, which somebody gives, removes it.
async fn sweep_unless_strange(system: &System) -> Result<Swept, Error> {
    if let Err(error) = system.store.tidy().await {
        tracing::warn!(
            error = format!("{:#}", anyhow::Error::from(error)),
            "staged files could not be removed"
        );
    }
    let sweep = |removing| sweep(&system.db, &system.store, system.grace(), removing, |_, _| {});
    let swept = sweep(false).await?;
    let Swept { looked_at, removed, .. } = swept;
    if removed == 0 {
        return Ok(swept);
    }
    if removed > MAX_ORPHANS.max(looked_at / 50) || system.db.read(store::is_empty).await? {
        tracing::warn!(
            looked_at,
            forgotten = removed,
            "more contents than crashes leave have no file here: is service.store_url this deployment's own? \
             They stay until somebody runs system sweep-files"
        );
        return Ok(Swept { looked_at, ..Swept::default() });
    }
    sweep(true).await
}

/// Looks at every content; memory holds one batch of them, and the database is asked once for each.
async fn sweep(
    db: &Database,
    store: &ContentStore,
    grace: Duration,
    removing: bool,
    mut tell: impl FnMut(&Swept, &[Found]),
) -> Result<Swept, Error> {
    let (mut swept, mut batches) = (Swept::default(), store.list());
    while let Some(mut batch) = batches.try_next().await? {
        swept.looked_at += batch.len() as u64;
        let now = SystemTime::now();
        batch.retain(|found| now.duration_since(found.modified).is_ok_and(|age| age > grace));
        let hashes: Vec<_> = batch.iter().map(|found| found.name.hash().to_owned()).collect();
        let used = db.read(move |c| store::names(c, &hashes)).await?;
        batch.retain(|found| used.get(found.name.hash()) != Some(&found.name));
        swept.removed += batch.len() as u64;
        swept.bytes += batch.iter().map(|found| found.size).sum::<u64>();
        tell(&swept, &batch);
        if removing && !batch.is_empty() {
            let names: Vec<Name> = batch.into_iter().map(|found| found.name).collect();
            store.remove(names).await?;
        }
    }
    Ok(swept)
}
