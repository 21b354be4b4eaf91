//! Staging: incoming content is hashed and written to a temporary file in chunks. Then it is stored as a blob, which
//! has no row yet.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use actix_web::web::Bytes;
use common::Error;
use futures_util::TryStreamExt;
use futures_util::stream::Stream;
use images::Edit;
use sha2::{Digest, Sha256};
use tempfile::{NamedTempFile, TempPath};

use super::{BlobName, BlobStore, blocking, reading};

/// Bytes from the beginning of the content that suffice to detect its type.
const HEAD_BYTES: usize = 8 << 10;
/// Bytes that are hashed and written at once.
const BUFFER_BYTES: usize = 1 << 20;

const ZEROS: [u8; 8 << 10] = [0; 8 << 10];

/// Content that is being received.
pub(crate) struct Staging {
    /// The folder of the temporary file, from which it can be renamed. `None` for a file without a name, which does not
    /// survive a crash.
    folder: Option<PathBuf>,
    head: Vec<u8>,
    size: u64,
    /// Bytes that are not written yet.
    buffer: Vec<u8>,
    written: Written,
}

/// The bytes that are written. Dropping this removes the temporary file.
#[derive(Default)]
struct Written {
    file: Option<(File, Option<TempPath>)>,
    hash: Sha256,
}

impl Staging {
    /// Creates an empty staging in this folder, or in the temporary folder.
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, head: Vec::new(), size: 0, buffer: Vec::new(), written: Written::default() }
    }

    /// Appends a chunk.
    ///
    /// # Errors
    /// 503 if the disk cannot be written.
    pub(crate) async fn push(&mut self, chunk: &[u8]) -> Result<(), Error> {
        if self.buffer.len() + chunk.len() > BUFFER_BYTES {
            self.flush().await?;
        }
        let head_left = HEAD_BYTES - self.head.len();
        self.head.extend_from_slice(&chunk[..head_left.min(chunk.len())]);
        self.size += chunk.len() as u64;
        self.buffer.extend_from_slice(chunk);
        Ok(())
    }

    /// Appends the content of a file of `size` bytes, with changes in the order of the content.
    ///
    /// # Errors
    /// 503 if a disk cannot be read or written.
    pub(crate) async fn push_edited(
        &mut self,
        file: &Arc<File>,
        size: u64,
        edits: Vec<Edit>,
    ) -> Result<(), Error> {
        let mut position = 0;
        let end = Edit { start: size, end: size, replacement: Vec::new(), zeros: 0 };
        for edit in edits.into_iter().chain([end]) {
            let mut chunks = pin!(reading::chunks(file.clone(), position..edit.start));
            while let Some(chunk) = chunks.try_next().await? {
                self.push(&chunk).await?;
            }
            for chunk in edit.replacement.chunks(BUFFER_BYTES) {
                self.push(chunk).await?;
            }
            let mut zeros = edit.zeros;
            while zeros > 0 {
                let count = zeros.min(ZEROS.len() as u64);
                self.push(&ZEROS[..usize::try_from(count).unwrap_or(ZEROS.len())]).await?;
                zeros -= count;
            }
            position = edit.end;
        }
        Ok(())
    }

    /// Completes the content.
    ///
    /// # Errors
    /// 503 if the disk cannot be written.
    pub(crate) async fn finish(mut self) -> Result<Staged, Error> {
        self.flush().await?;
        let hash = base16ct::lower::encode_string(&self.written.hash.finalize());
        let no_file = || Error::Internal(anyhow::anyhow!("nothing was staged"));
        let (file, path) = self.written.file.ok_or_else(no_file)?;
        Ok(Staged { head: self.head, size: self.size, hash, file: Arc::new(file), path })
    }

    async fn flush(&mut self) -> Result<(), Error> {
        let (mut written, mut buffer) = (std::mem::take(&mut self.written), std::mem::take(&mut self.buffer));
        let folder = self.folder.clone();
        (self.written, self.buffer) = blocking(move || {
            let (file, _) = match &mut written.file {
                Some(file) => file,
                none => none.insert(create(folder)?),
            };
            file.write_all(&buffer)?;
            written.hash.update(&buffer);
            buffer.clear();
            Ok((written, buffer))
        })
        .await?;
        Ok(())
    }
}

fn create(folder: Option<PathBuf>) -> io::Result<(File, Option<TempPath>)> {
    let Some(folder) = folder else { return Ok((tempfile::tempfile()?, None)) };
    let (file, path) = NamedTempFile::new_in(folder)?.into_parts();
    // The lock marks the file as in use until it is closed. On file systems without locks, only its age does.
    let _ = file.try_lock();
    Ok((file, Some(path)))
}

/// Complete content that is not in the store yet. Dropping this removes the content.
#[derive(Debug)]
pub(crate) struct Staged {
    /// The first bytes, up to 8 KiB.
    pub head: Vec<u8>,
    /// Size in bytes.
    pub size: u64,
    /// SHA-256 in hexadecimal.
    pub hash: String,
    file: Arc<File>,
    path: Option<TempPath>,
}

impl Staged {
    /// Reads the content in chunks.
    pub(crate) fn chunks(&self) -> impl Stream<Item = Result<Bytes, Error>> + Send + use<> {
        reading::chunks(self.file.clone(), 0..self.size)
    }

    /// Returns the file with the content.
    pub(crate) fn file(&self) -> Arc<File> {
        self.file.clone()
    }

    /// Reads a range of the content into memory.
    pub(super) async fn read(&self, start: u64, size: u64) -> Result<Bytes, Error> {
        reading::read(self.file.clone(), start, size).await
    }

    /// Moves the content to this path atomically.
    ///
    /// # Errors
    /// `InvalidInput` if the temporary file has no name.
    pub(super) fn persist(self, path: &Path) -> io::Result<()> {
        let Some(staged) = self.path else { return Err(io::ErrorKind::InvalidInput.into()) };
        // The grace period of the sweep starts now. Later parts of the same upload may have delayed this one.
        self.file.set_modified(SystemTime::now())?;
        self.file.sync_all()?;
        Ok(staged.persist(path)?)
    }
}

/// Blobs whose rows are not created yet. They must be created within half of the sweep's grace period.
pub(crate) struct StoredBlobs {
    /// The names of the blobs that were not in use before.
    pub new: Vec<BlobName>,
    /// The names of the blobs that were in use. They may be retired until the rows are created.
    pub reused: Vec<BlobName>,
    /// A time before the first blob was stored.
    started: SystemTime,
    /// Half of the sweep's grace period.
    max_age: Duration,
}

impl StoredBlobs {
    /// Creates an empty list. `grace` is the grace period of the sweep.
    pub(crate) fn new(grace: Duration) -> Self {
        Self { new: Vec::new(), reused: Vec::new(), started: SystemTime::now(), max_age: grace / 2 }
    }

    /// Stores the contents of an upload. `names` has the names of blobs that are in use, by hash.
    ///
    /// # Errors
    /// 503 if the blob store is unavailable.
    pub(crate) async fn store(
        blob_store: &BlobStore,
        contents: Vec<Staged>,
        names: HashMap<String, BlobName>,
        grace: Duration,
    ) -> Result<Self, Error> {
        let mut stored = Self::new(grace);
        for content in contents {
            let name = names.get(&content.hash).cloned();
            stored.add(blob_store, content, name).await?;
        }
        Ok(stored)
    }

    /// Stores a content, unless it was added already. `name` is the name of its blob if that is in use. Such a blob is
    /// stored again only if the store has lost it.
    ///
    /// # Errors
    /// 503 if the blob store is unavailable.
    pub(crate) async fn add(
        &mut self,
        blob_store: &BlobStore,
        content: Staged,
        name: Option<BlobName>,
    ) -> Result<(), Error> {
        if self.new.iter().chain(&self.reused).any(|name| name.hash() == content.hash) {
            return Ok(());
        }
        let Some(name) = name else {
            let name = BlobName::new(&content.hash);
            // Before it is stored, so that what a failure leaves can be removed.
            self.new.push(name.clone());
            return blob_store.put(content, &name).await;
        };
        if !blob_store.contains(&name, content.size).await? {
            blob_store.put(content, &name).await?;
        }
        self.reused.push(name);
        Ok(())
    }

    /// Removes the new blobs, which have no rows. The sweep removes what is left.
    pub(crate) async fn discard(&self, blob_store: &BlobStore) {
        if let Err(error) = blob_store.remove(self.new.clone()).await {
            let error = format!("{:#}", anyhow::Error::from(error));
            tracing::warn!(error, "contents that no file gets could not be removed");
        }
    }

    /// Checks that the sweep cannot remove the blobs yet.
    ///
    /// # Errors
    /// 503 if the blobs were stored longer ago than half of the grace period.
    pub(crate) fn check_not_expired(&self) -> Result<(), Error> {
        // Uses the same clock as the sweep. Unlike `Instant`, it advances while the machine sleeps.
        if self.started.elapsed().is_ok_and(|age| age < self.max_age) {
            return Ok(());
        }
        let cause = anyhow::anyhow!("the contents waited {:?} for their rows", self.started.elapsed());
        Err(Error::Unavailable(cause, "The database"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_without_rows_expire_after_max_age() {
        let stored = |age| StoredBlobs {
            started: SystemTime::now() - Duration::from_secs(age),
            ..StoredBlobs::new(Duration::from_secs(60))
        };
        assert!(stored(0).check_not_expired().is_ok() && stored(20).check_not_expired().is_ok());
        assert!(matches!(stored(31).check_not_expired(), Err(Error::Unavailable(..))));
    }
}
