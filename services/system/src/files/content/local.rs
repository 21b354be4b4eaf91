//! A folder with `ab/<name>` for each content and `.staging` for what is not complete. Its files and folders are
//! synced before a content counts as kept; it takes its place by a rename, so it is there whole or not at all.

use std::collections::HashSet;
use std::fs::{self, DirEntry, File, Metadata};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use actix_web::body::BoxBody;
use anyhow::{Context, ensure};
use common::Error;
use futures_util::stream::{self, Stream};

use super::{BATCH, Found, Name, Staged, blocking, lost, reading};

/// A staged file that nobody has locked and that is older was left behind by a crash. On a file system whose locks other
/// machines do not see, an upload that comes in may look so too, if it brings less than a MiB in this time.
const STALE: Duration = Duration::from_secs(600);
/// So was one that is older than this, locked or not: not every file system has locks.
const LONG_STALE: Duration = Duration::from_secs(24 * 3600);

/// The folder.
#[derive(Clone, Debug)]
pub struct Local {
    folder: PathBuf,
    /// The shards whose own names this process knows to be durable.
    durable: Arc<Mutex<HashSet<String>>>,
}

impl Local {
    /// Opens the folder, and makes it if it is missing.
    pub(super) fn open(folder: &str) -> anyhow::Result<Self> {
        ensure!(
            !folder.is_empty(),
            "service.store_url names no folder: write it as in file:///var/lib/drover/files"
        );
        let local = Self { folder: folder.into(), durable: Arc::default() };
        local.prepare().with_context(|| {
            format!(
                "the folder {folder} of service.store_url cannot be used: make it writable, or name another"
            )
        })?;
        Ok(local)
    }

    fn prepare(&self) -> io::Result<()> {
        fs::create_dir_all(self.staging())?;
        tempfile::tempfile_in(self.staging())?;
        sync_folder(&self.folder)
    }

    pub(super) fn staging(&self) -> PathBuf {
        self.folder.join(".staging")
    }

    fn path(&self, name: &Name) -> PathBuf {
        self.folder.join(name.folder()).join(name.as_str())
    }

    pub(super) async fn keep(&self, staged: Staged, name: &Name) -> Result<(), Error> {
        let (local, name) = (self.clone(), name.clone());
        blocking(move || {
            let shard = local.shard(&name)?;
            staged.persist(&shard.join(name.as_str()))?;
            sync_folder(&shard)
        })
        .await
    }

    /// The folder of a content, there for good.
    fn shard(&self, name: &Name) -> io::Result<PathBuf> {
        let shard = self.folder.join(name.folder());
        let made = match fs::create_dir(&shard) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => false,
            made => made.map(|()| true)?,
        };
        let durable = || self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        if made {
            durable().remove(name.folder());
        }
        // Another replica, or an earlier process, may have made it and not come to the next line.
        if !durable().contains(name.folder()) {
            sync_folder(&self.folder)?;
            durable().insert(name.folder().to_owned());
        }
        Ok(shard)
    }

    pub(super) async fn size(&self, name: &Name) -> Result<Option<u64>, Error> {
        let path = self.path(name);
        blocking(move || unless_gone(fs::metadata(path).map(|found| found.len()))).await
    }

    pub(super) async fn read(&self, name: &Name, bytes: Range<u64>) -> Result<BoxBody, Error> {
        match reading::open(self.path(name)).await {
            Ok(file) => reading::body(file, bytes).await.map_err(missing),
            // With the whole folder gone, the content is out of reach and not lost.
            Err(error) if self.is_reachable().await => Err(missing(error)),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn is_reachable(&self) -> bool {
        let staging = self.staging();
        blocking(move || fs::metadata(staging)).await.is_ok_and(|found| found.is_dir())
    }

    pub(super) fn list(&self) -> impl Stream<Item = Result<Vec<Found>, Error>> + Send + use<> {
        let entries = entries(&self.folder).flat_map(|shard| match shard {
            Ok(shard) if is_shard(&shard) => entries(&shard.path()),
            // Others may have put their own beside ours, for themselves alone.
            Ok(_) => Box::new(std::iter::empty()),
            Err(e) => Box::new(std::iter::once(Err(e))),
        });
        stream::try_unfold(entries, async |mut entries| {
            let next = blocking(move || {
                let contents =
                    entries.by_ref().filter_map(|entry| entry.and_then(|e| content(&e)).transpose());
                Ok((contents.take(BATCH).collect::<io::Result<Vec<_>>>()?, entries))
            });
            let (batch, entries) = next.await?;
            Ok(if batch.is_empty() { None } else { Some((batch, entries)) })
        })
    }

    pub(super) async fn remove(&self, names: Vec<Name>) -> Result<(), Error> {
        let paths: Vec<_> = names.iter().map(|name| self.path(name)).collect();
        blocking(move || paths.iter().try_for_each(|path| unless_gone(fs::remove_file(path)).map(|_| ())))
            .await
    }

    pub(super) async fn tidy(&self) -> Result<usize, Error> {
        let staging = self.staging();
        blocking(move || {
            let mut removed = 0;
            for entry in fs::read_dir(&staging)? {
                let entry = entry?;
                // Others may be uploads that are coming in, here or at another replica.
                let found = unless_gone(entry.metadata())?.filter(Metadata::is_file);
                let modified = found.map(|found| found.modified()).transpose()?;
                let age = modified.and_then(|at| at.elapsed().ok()).unwrap_or_default();
                if age > LONG_STALE || (age > STALE && is_nobodys(&entry.path())) {
                    removed += usize::from(unless_gone(fs::remove_file(entry.path()))?.is_some());
                }
            }
            Ok(removed)
        })
        .await
    }
}

type Entries = Box<dyn Iterator<Item = io::Result<DirEntry>> + Send>;

/// What is in a folder; nothing in what is none.
fn entries(folder: &Path) -> Entries {
    match fs::read_dir(folder) {
        Ok(entries) => Box::new(entries),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::NotFound) => {
            Box::new(std::iter::empty())
        }
        Err(e) => Box::new(std::iter::once(Err(e))),
    }
}

fn is_shard(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    name.len() == 2 && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit)
}

/// The content that an entry of a shard is, if it is one.
fn content(entry: &DirEntry) -> io::Result<Option<Found>> {
    let (path, file) = (entry.path(), entry.file_name());
    let shard = path.parent().and_then(Path::file_name).and_then(|shard| shard.to_str());
    let Some(name) = shard.zip(file.to_str()).and_then(|(shard, name)| Name::at(shard, name)) else {
        return Ok(None);
    };
    let Some(found) = unless_gone(entry.metadata())? else { return Ok(None) };
    let modified: SystemTime = found.modified()?;
    Ok(found.is_file().then_some(Found { name, size: found.len(), modified }))
}

/// Whether nobody has a staged file locked; if that cannot be told, no.
fn is_nobodys(staged: &Path) -> bool {
    File::open(staged).is_ok_and(|file| file.try_lock().is_ok())
}

/// Nothing where the file is not there, or not any more.
fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Makes the names in a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// [`lost`] if the error says that the content, or a part of it, is not there.
fn missing(error: Error) -> Error {
    match error {
        Error::Unavailable(cause, what) => match cause.downcast_ref().map(io::Error::kind) {
            Some(io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) => lost(cause),
            _ => Error::Unavailable(cause, what),
        },
        other => other,
    }
}
