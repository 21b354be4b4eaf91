//! A store in a folder: `ab/<name>` for each blob, and `.staging` for incomplete content. Content is synced and then
//! renamed into its shard, so that it appears completely or not at all. Then the shard is synced.

use std::collections::HashSet;
use std::fs::{self, DirEntry, File, Metadata};
use std::io;
use std::iter;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::BoxBody;
use anyhow::{Context, ensure};
use common::Error;
use futures_util::stream::{self, Stream};
use parking_lot::Mutex;

use super::staging::Staged;
use super::{BlobEntry, BlobName, LIST_BATCH, blocking, missing, reading};
use crate::config::setting;

/// A staged file that is not locked and was not written to for longer than this was left by a crash. Where machines do
/// not see each other's locks, the sweep may also remove a live upload that sends less than 1 MiB in this time.
const STALE_UNLOCKED_AGE: Duration = Duration::from_secs(600);
/// A staged file that was not written for longer is left from a crash, locked or not: some file systems have no locks.
const STALE_AGE: Duration = Duration::from_secs(24 * 3600);

/// A store in a folder.
#[derive(Clone, Debug)]
pub(crate) struct LocalStore {
    folder: PathBuf,
    /// Shards that this process knows to be durable in `folder`.
    durable_shards: Arc<Mutex<HashSet<String>>>,
}

impl LocalStore {
    /// Opens the folder. Creates it if it does not exist.
    pub(super) fn open(folder: &str) -> anyhow::Result<Self> {
        ensure!(
            !folder.is_empty(),
            "{} has no folder: write it as in file:///var/lib/drover/files",
            setting("store_url")
        );
        let local = Self { folder: folder.into(), durable_shards: Arc::default() };
        local.prepare().with_context(|| {
            format!(
                "the folder {folder} of {} cannot be used: make it writable, or use another one",
                setting("store_url")
            )
        })?;
        Ok(local)
    }

    fn prepare(&self) -> io::Result<()> {
        let staging = self.staging_folder();
        let missing = staging.ancestors().take_while(|folder| !folder.exists()).count();
        fs::create_dir_all(&staging)?;
        tempfile::tempfile_in(&staging)?;
        // A new folder is durable with the names in its parent. An earlier process may have crashed before the sync.
        staging.ancestors().skip(1).take(missing.max(1)).try_for_each(sync_folder)
    }

    /// Returns the folder of contents that are not stored yet.
    pub(super) fn staging_folder(&self) -> PathBuf {
        self.folder.join(".staging")
    }

    fn path(&self, name: &BlobName) -> PathBuf {
        self.folder.join(name.shard()).join(name.as_str())
    }

    /// Stores staged content durably under a name.
    pub(super) async fn put(&self, staged: Staged, name: &BlobName) -> Result<(), Error> {
        let (local, name) = (self.clone(), name.clone());
        blocking(move || {
            let shard = local.create_shard(&name)?;
            staged.persist(&shard.join(name.as_str()))?;
            sync_folder(&shard)
        })
        .await
    }

    /// Creates the shard of a blob durably, and returns its path.
    fn create_shard(&self, name: &BlobName) -> io::Result<PathBuf> {
        let shard = self.folder.join(name.shard());
        let created = match fs::create_dir(&shard) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => false,
            result => result.map(|()| true)?,
        };
        if created {
            self.durable_shards.lock().remove(name.shard());
        }
        // Another replica or an earlier process may have created the shard and crashed before syncing it.
        if !self.durable_shards.lock().contains(name.shard()) {
            sync_folder(&self.folder)?;
            self.durable_shards.lock().insert(name.shard().to_owned());
        }
        Ok(shard)
    }

    /// Returns the size of a blob in bytes, or `None` if it does not exist.
    pub(super) async fn size(&self, name: &BlobName) -> Result<Option<u64>, Error> {
        let path = self.path(name);
        blocking(move || if_exists(fs::metadata(path).map(|metadata| metadata.len()))).await
    }

    /// Returns a range of bytes of a blob as a streamed body.
    pub(super) async fn read(&self, name: &BlobName, range: Range<u64>) -> Result<BoxBody, Error> {
        match reading::open(self.path(name)).await {
            Ok(file) => reading::body(file, range).await.map_err(missing_if_not_found),
            // Without the whole folder, the store is unavailable and the blob is not missing.
            Err(error) if self.is_reachable().await => Err(missing_if_not_found(error)),
            Err(error) => Err(error),
        }
    }

    /// Opens a blob.
    pub(super) async fn open_blob(&self, name: &BlobName) -> Result<File, Error> {
        let path = self.path(name);
        blocking(move || File::open(path)).await.map_err(missing_if_not_found)
    }

    /// Returns true if the folder can be used.
    pub(super) async fn is_reachable(&self) -> bool {
        let staging = self.staging_folder();
        blocking(move || fs::metadata(staging)).await.is_ok_and(|metadata| metadata.is_dir())
    }

    /// Lists all blobs in batches.
    pub(super) fn list(&self) -> impl Stream<Item = Result<Vec<BlobEntry>, Error>> + Send + use<> {
        let entries = entries(&self.folder).flat_map(|shard| match shard {
            Ok(shard) if is_shard(&shard) => entries(&shard.path()),
            // Other entries are not ours, and may be unreadable.
            Ok(_) => Box::new(iter::empty()),
            Err(e) => Box::new(iter::once(Err(e))),
        });
        stream::try_unfold(entries, async |mut entries| {
            let next = blocking(move || {
                let blobs =
                    entries.by_ref().filter_map(|entry| entry.and_then(|e| blob_entry(&e)).transpose());
                Ok((blobs.take(LIST_BATCH).collect::<io::Result<Vec<_>>>()?, entries))
            });
            let (batch, entries) = next.await?;
            Ok(if batch.is_empty() { None } else { Some((batch, entries)) })
        })
    }

    /// Removes blobs. Ignores those that do not exist.
    pub(super) async fn remove(&self, names: Vec<BlobName>) -> Result<(), Error> {
        let paths: Vec<_> = names.iter().map(|name| self.path(name)).collect();
        blocking(move || paths.iter().try_for_each(|path| if_exists(fs::remove_file(path)).map(|_| ()))).await
    }

    /// Removes the staged contents of uploads that a crash has interrupted. Returns their number.
    pub(super) async fn remove_stale_uploads(&self) -> Result<usize, Error> {
        let staging = self.staging_folder();
        blocking(move || {
            let mut removed = 0;
            for entry in fs::read_dir(&staging)? {
                let entry = entry?;
                // Uploads in progress, of this or another replica, can disappear at any time.
                let metadata = if_exists(entry.metadata())?.filter(Metadata::is_file);
                let modified = metadata.map(|metadata| metadata.modified()).transpose()?;
                let age = modified.and_then(|at| at.elapsed().ok()).unwrap_or_default();
                if age > STALE_AGE || (age > STALE_UNLOCKED_AGE && is_unlocked(&entry.path())) {
                    removed += usize::from(if_exists(fs::remove_file(entry.path()))?.is_some());
                }
            }
            Ok(removed)
        })
        .await
    }
}

type Entries = Box<dyn Iterator<Item = io::Result<DirEntry>> + Send>;

/// Returns the entries of a folder, and none if the path is not a folder.
fn entries(folder: &Path) -> Entries {
    match fs::read_dir(folder) {
        Ok(entries) => Box::new(entries),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::NotFound) => {
            Box::new(iter::empty())
        }
        Err(e) => Box::new(iter::once(Err(e))),
    }
}

fn is_shard(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    name.len() == 2 && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit)
}

/// Returns the blob for an entry of a shard, or `None` if the entry is not a blob.
fn blob_entry(entry: &DirEntry) -> io::Result<Option<BlobEntry>> {
    let (path, file) = (entry.path(), entry.file_name());
    let shard = path.parent().and_then(Path::file_name).and_then(|shard| shard.to_str());
    let Some(name) = shard.zip(file.to_str()).and_then(|(shard, name)| BlobName::parse(shard, name)) else {
        return Ok(None);
    };
    let Some(metadata) = if_exists(entry.metadata())? else { return Ok(None) };
    let modified = metadata.modified()?;
    Ok(metadata.is_file().then_some(BlobEntry { name, size: metadata.len(), modified }))
}

/// Returns true if no process has the staged file locked. Returns false if this is unknown.
fn is_unlocked(staged: &Path) -> bool {
    File::open(staged).is_ok_and(|file| file.try_lock().is_ok())
}

/// Returns `None` if the file does not exist.
fn if_exists<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Makes the names in a folder durable. The empty path is the current folder.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(Path::new(".").join(folder))?.sync_all()
}

/// Turns the error into [`missing`] if the blob, or a part of it, does not exist.
fn missing_if_not_found(error: Error) -> Error {
    match error {
        Error::Unavailable(cause, dependency) => match cause.downcast_ref().map(io::Error::kind) {
            Some(io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) => missing(cause),
            _ => Error::Unavailable(cause, dependency),
        },
        other => other,
    }
}
