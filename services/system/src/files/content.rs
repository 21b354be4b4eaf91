//! Where the content of files is kept: by its SHA-256, so that the same content is kept once.
//!
//! Content is first [staged](Staging) in a local file while it streams in, and [kept](ContentStore::keep) when the
//! whole request has turned out to be good. Then it is on the disk for good before anything refers to it; whatever
//! is not kept is gone when it is dropped. Content is never deleted, so two files can share it without a count.

mod staging;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use actix_web::body::{BoxBody, SizedStream};
use actix_web::web::Bytes;
use anyhow::{Context, bail};
use common::Error;
use futures_util::stream;

pub use staging::{Staged, Staging};

/// Content passes through memory in pieces of this size, up and down.
const CHUNK: usize = 1 << 20;
/// Content up to this size is read at once.
const SMALL: u64 = 256 << 10;
/// A staged file that is older was left behind by a crash.
const STALE: Duration = Duration::from_secs(24 * 3600);

/// A folder with `ab/<hash>` for each content and `.staging` for what is not complete.
#[derive(Clone, Debug)]
pub struct ContentStore {
    folder: PathBuf,
}

impl ContentStore {
    /// Opens the store at `file://FOLDER`, and makes it if it is missing.
    ///
    /// # Errors
    /// One sentence that says what to change.
    pub fn open(url: &str) -> anyhow::Result<Self> {
        let Some(folder) = url.strip_prefix("file://").filter(|folder| !folder.is_empty()) else {
            bail!(
                "service.store_url must be file:// and a folder, as in file:///var/lib/drover/files, but is \"{url}\""
            );
        };
        let store = Self { folder: folder.into() };
        store.prepare().with_context(|| {
            format!(
                "the folder {folder} of service.store_url cannot be used: make it writable, or name another"
            )
        })?;
        Ok(store)
    }

    fn prepare(&self) -> io::Result<()> {
        let staging = self.staging();
        fs::create_dir_all(&staging)?;
        for entry in fs::read_dir(&staging)? {
            let entry = entry?;
            // Younger ones may be another replica's uploads.
            if entry.metadata()?.modified()?.elapsed().is_ok_and(|age| age > STALE) {
                fs::remove_file(entry.path())?;
            }
        }
        tempfile::tempfile_in(&staging)?;
        sync_folder(&self.folder)
    }

    fn staging(&self) -> PathBuf {
        self.folder.join(".staging")
    }

    fn path(&self, hash: &str) -> PathBuf {
        let shard = hash.get(..2).unwrap_or_default();
        self.folder.join(shard).join(hash)
    }

    /// Begins to take in content; nothing is written yet.
    pub fn begin(&self) -> Staging {
        Staging::new(self.staging())
    }

    /// Keeps content for good: a crash after this does not lose it.
    ///
    /// # Errors
    /// 503 when the disk does not take it.
    pub async fn keep(&self, staged: Staged) -> Result<(), Error> {
        let (path, folder) = (self.path(&staged.hash), self.folder.clone());
        blocking(move || {
            let shard = path.parent().unwrap_or(&folder);
            if fs::metadata(&path).is_ok_and(|known| known.len() == staged.size) {
                drop(staged);
            } else {
                fs::create_dir_all(shard)?;
                staged.persist(&path)?;
            }
            // Whoever put the content there, perhaps at this moment, may not have come to this yet.
            sync_folder(shard)?;
            sync_folder(&folder)
        })
        .await
    }

    /// Bytes of the content with this hash, as the body of an answer; more than a few are read as they are sent.
    ///
    /// # Errors
    /// 500 when the content is not there, 503 when it cannot be read.
    pub async fn read(&self, hash: &str, bytes: Range<u64>) -> Result<BoxBody, Error> {
        let (path, size, start) = (self.path(hash), bytes.end - bytes.start, bytes.start);
        let (file, small) = blocking(move || {
            let file = File::open(path)?;
            let small = if size <= SMALL { Some(read_at(&file, start, size)?) } else { None };
            Ok((file, small))
        })
        .await
        .map_err(lost)?;
        Ok(match small {
            Some(content) => BoxBody::new(content),
            None => BoxBody::new(SizedStream::new(size, Box::pin(chunks(file, bytes)))),
        })
    }

    /// True when the folder is there.
    pub async fn is_reachable(&self) -> bool {
        let staging = self.staging();
        blocking(move || fs::metadata(staging)).await.is_ok_and(|found| found.is_dir())
    }
}

fn chunks(file: File, bytes: Range<u64>) -> impl stream::Stream<Item = Result<Bytes, Error>> {
    stream::try_unfold((file, bytes), async |(file, rest)| {
        if rest.is_empty() {
            return Ok(None);
        }
        let size = (rest.end - rest.start).min(CHUNK as u64);
        let next = rest.start + size..rest.end;
        let read = blocking(move || read_at(&file, rest.start, size).map(|chunk| (chunk, file)));
        let (chunk, file) = read.await?;
        Ok(Some((chunk, (file, next))))
    })
}

fn read_at(file: &File, start: u64, size: u64) -> io::Result<Bytes> {
    let mut buffer = vec![0; usize::try_from(size).map_err(io::Error::other)?];
    file.read_exact_at(&mut buffer, start)?;
    Ok(buffer.into())
}

/// Makes the names in a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Runs file operations where they do not keep other requests waiting.
async fn blocking<T: Send + 'static>(f: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(f).await.map_err(|e| Error::Internal(e.into()))?;
    done.map_err(|e| Error::Unavailable(e.into(), "The store of file contents"))
}

/// Content that a file has and the store has not will not come back by trying again.
fn lost(error: Error) -> Error {
    match error {
        Error::Unavailable(cause, what) => match cause.downcast_ref().map(io::Error::kind) {
            Some(io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) => {
                Error::Internal(cause.context("content is missing in the store"))
            }
            _ => Error::Unavailable(cause, what),
        },
        other => other,
    }
}
