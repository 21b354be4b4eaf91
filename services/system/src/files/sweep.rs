//! Removes orphans from the blob store: blobs that no file has. A crash, or an unavailable database, leaves an orphan
//! between storing the blob and creating its row. [`blob_store`](super::blob_store) explains why this removes no blob
//! that is in use. Also removes blobs that files had before ([`remove_retired`]).

use std::collections::HashSet;
use std::iter;
use std::time::{Duration, SystemTime};

use clap::{Arg, ArgAction, ArgMatches, Command};
use common::Error;
use database::Database;
use futures_util::TryStreamExt;

use super::blob_store::{BlobEntry, BlobName, BlobStore};
use super::images::ImageCopy;
use super::store::blobs;
use crate::Settings;

/// The name of the command.
pub(crate) const COMMAND: &str = "sweep-files";
const DRY_RUN: &str = "dry-run";
/// Blobs between two lines of progress of the command.
const PROGRESS_INTERVAL: u64 = 100_000;
/// The background sweep removes up to this many orphans, or one in [`ORPHAN_RATIO`] blobs if that is more.
const MAX_ORPHANS: u64 = 20;
const ORPHAN_RATIO: u64 = 50;
const SWEEP_INTERVAL: Duration = Duration::from_secs(24 * 3600);

/// The outcome of a sweep.
#[derive(Debug, Default)]
struct Swept {
    /// Number of blobs in the store.
    checked: u64,
    /// Number of orphans older than the grace period.
    orphans: u64,
    /// Size of the orphans in bytes.
    bytes: u64,
    /// Number of smaller copies of images whose content is an orphan or belongs to archived files only, older than the
    /// grace period.
    copies: u64,
}

/// Returns the command `sweep-files`.
pub(crate) fn command() -> Command {
    let dry_run = Arg::new(DRY_RUN).long(DRY_RUN).action(ArgAction::SetTrue);
    common::cli::command(
        COMMAND,
        "Removes contents that no file has, once they are older than service.sweep_grace_seconds",
        [
            "database.url and service.store_url; it may run beside the service",
            "when all contents were checked",
            "sweep-files --dry-run",
        ],
    )
    .arg(dry_run.help("Lists the contents and removes none"))
}

/// Runs the command `sweep-files`.
pub(crate) async fn run(arguments: &ArgMatches, settings: &Settings, db: Database) -> anyhow::Result<()> {
    let blob_store = BlobStore::open(settings).await?;
    let (dry_run, mut reported) = (arguments.get_flag(DRY_RUN), 0);
    let swept = sweep(&db, &blob_store, settings.sweep_grace(), !dry_run, |swept, orphans| {
        for BlobEntry { name, size, .. } in orphans {
            println!("{} {size}", name.as_str());
        }
        if swept.checked >= reported + PROGRESS_INTERVAL {
            reported = swept.checked;
            eprintln!("{reported} contents checked so far");
        }
    });
    let Swept { checked, orphans, bytes, copies } = swept.await?;
    let removed = if dry_run { "would be removed" } else { "removed" };
    println!("{checked} contents checked, {orphans} of them {removed}: {bytes} bytes");
    if copies > 0 {
        println!("{copies} smaller copies of images {removed}");
    }
    if !dry_run {
        println!("{} interrupted uploads removed", blob_store.remove_stale_uploads().await?);
    }
    Ok(())
}

/// Sweeps when the service starts, again after the grace period, and then once a day. The second sweep finds the
/// orphans that were too young at the start.
pub(crate) async fn run_periodically(db: &Database, blob_store: &BlobStore, grace: Duration) {
    for wait in [Duration::ZERO, grace].into_iter().chain(iter::repeat(SWEEP_INTERVAL)) {
        tokio::time::sleep(wait).await;
        match sweep_if_few_orphans(db, blob_store, grace).await {
            Ok(Swept { checked, orphans, bytes, copies }) => {
                tracing::info!(
                    checked,
                    removed = orphans,
                    bytes,
                    copies,
                    "orphaned contents of files were removed"
                );
            }
            Err(error) => tracing::warn!(
                error = format!("{:#}", anyhow::Error::from(error)),
                "orphaned contents of files could not be removed; the command system {COMMAND} removes them too"
            ),
        }
    }
}

/// Removes the orphans if they are few. Crashes leave few. Many orphans mean that this is probably the wrong database,
/// or the store of another deployment. Only the command, which an operator runs, removes those.
async fn sweep_if_few_orphans(
    db: &Database,
    blob_store: &BlobStore,
    grace: Duration,
) -> Result<Swept, Error> {
    if let Err(error) = blob_store.remove_stale_uploads().await {
        tracing::warn!(
            error = format!("{:#}", anyhow::Error::from(error)),
            "interrupted uploads could not be removed"
        );
    }
    if let Err(error) = remove_retired(db, blob_store).await {
        let error = format!("{:#}", anyhow::Error::from(error));
        tracing::warn!(error, "contents that no file has any more could not be removed");
    }
    let sweep_all = |remove| sweep(db, blob_store, grace, remove, |_, _| {});
    let dry_run = sweep_all(false).await?;
    let Swept { checked, orphans, copies, .. } = dry_run;
    if orphans == 0 && copies == 0 {
        return Ok(dry_run);
    }
    if orphans > MAX_ORPHANS.max(checked / ORPHAN_RATIO) || db.read(blobs::is_empty).await? {
        tracing::warn!(
            checked,
            orphans,
            "more orphaned contents than crashes leave: check that service.store_url belongs to this deployment. \
             They are not removed until an operator runs system {COMMAND}"
        );
        return Ok(Swept { checked, ..Swept::default() });
    }
    sweep_all(true).await
}

/// Checks every blob, and removes the orphans if `remove` is true. Holds one batch of blobs in memory and runs
/// one query for each batch. Calls `report` with the totals so far and the orphans of the batch.
async fn sweep(
    db: &Database,
    blob_store: &BlobStore,
    grace: Duration,
    remove: bool,
    mut report: impl FnMut(&Swept, &[BlobEntry]),
) -> Result<Swept, Error> {
    let (mut swept, mut batches) = (Swept::default(), blob_store.list());
    while let Some(mut batch) = batches.try_next().await? {
        swept.checked += batch.iter().filter(|entry| !is_copy(entry)).count() as u64;
        let now = SystemTime::now();
        batch.retain(|entry| now.duration_since(entry.modified).is_ok_and(|age| age > grace));
        let hashes: Vec<_> = batch.iter().map(|entry| entry.name.hash().to_owned()).collect();
        let copied: Vec<_> = batch.iter().filter(|e| is_copy(e)).map(|e| e.name.hash().to_owned()).collect();
        let read = move |c: &mut _| {
            let mut active = HashSet::new();
            for hash in copied.clone() {
                if blobs::is_active(c, &hash)? {
                    active.insert(hash);
                }
            }
            Ok::<_, Error>((blobs::find_names(c, &hashes)?, active))
        };
        let (in_use, active) = db.read(read).await?;
        batch.retain(|BlobEntry { name, .. }| match name.original() {
            Some(blob) => in_use.get(name.hash()) != Some(&blob) || !active.contains(name.hash()),
            None => in_use.get(name.hash()) != Some(name),
        });
        swept.copies += batch.iter().filter(|entry| is_copy(entry)).count() as u64;
        swept.orphans += batch.iter().filter(|entry| !is_copy(entry)).count() as u64;
        swept.bytes += batch.iter().filter(|entry| !is_copy(entry)).map(|entry| entry.size).sum::<u64>();
        report(&swept, &batch);
        if remove && !batch.is_empty() {
            let names: Vec<BlobName> = batch.into_iter().map(|entry| entry.name).collect();
            blob_store.remove(names).await?;
        }
    }
    Ok(swept)
}

/// Returns true for a smaller copy of an image.
fn is_copy(entry: &BlobEntry) -> bool {
    entry.name.original().is_some()
}

/// Removes all retired blobs and their smaller copies.
///
/// Such a blob is removed in two transactions. The first one retires it, together with the change of the last file that
/// has it. From then on uploads of the same blob store it again, and an upload that has already looked it up fails.
/// The second one, which sees all files of earlier transactions, deletes its row. Then it is removed from the store.
///
/// # Errors
/// 503 if the database or the blob store is unavailable. The sweep removes what is left.
pub(super) async fn remove_retired(db: &Database, blob_store: &BlobStore) -> Result<(), Error> {
    for name in db.write(blobs::delete_retired).await? {
        let mut names = ImageCopy::all_names(&name);
        names.push(name);
        blob_store.remove(names).await?;
    }
    Ok(())
}

/// Removes those of these blobs that no row names, because no file got them. They must be new, and the transaction
/// that could have created their rows must have ended.
///
/// # Errors
/// 503 if the database or the blob store is unavailable. The sweep removes what is left.
pub(super) async fn remove_unused(
    db: &Database,
    blob_store: &BlobStore,
    mut names: Vec<BlobName>,
) -> Result<(), Error> {
    if names.is_empty() {
        return Ok(());
    }
    let hashes: Vec<_> = names.iter().map(|name| name.hash().to_owned()).collect();
    let in_use = db.read(move |c| blobs::find_names(c, &hashes)).await?;
    names.retain(|name| in_use.get(name.hash()) != Some(name));
    blob_store.remove(names).await
}
