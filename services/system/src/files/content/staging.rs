//! Content on its way in: written to a temporary file and hashed in pieces, never whole in memory.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use actix_web::web::Bytes;
use common::Error;
use futures_util::stream::Stream;
use sha2::{Digest, Sha256};
use tempfile::{NamedTempFile, TempPath};

use super::{blocking, reading};

/// As much of the beginning as is needed to tell what the content is.
const HEAD: usize = 8 << 10;
/// Content is written and hashed in pieces of this size.
const CHUNK: usize = 1 << 20;

/// Content that is being taken in.
pub struct Staging {
    /// Where the file can take its final name from; without one it has no name, and not even a crash leaves it.
    folder: Option<PathBuf>,
    head: Vec<u8>,
    size: u64,
    /// What came since the last piece was written.
    buffer: Vec<u8>,
    written: Written,
}

/// What has left memory. The temporary file goes when this is dropped.
#[derive(Default)]
struct Written {
    file: Option<(File, Option<TempPath>)>,
    hash: Sha256,
}

impl Staging {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, head: Vec::new(), size: 0, buffer: Vec::new(), written: Written::default() }
    }

    /// Takes in more.
    ///
    /// # Errors
    /// 503 when the disk does not take it.
    pub async fn push(&mut self, chunk: &[u8]) -> Result<(), Error> {
        if self.buffer.len() + chunk.len() > CHUNK {
            self.flush().await?;
        }
        let missing = HEAD - self.head.len();
        self.head.extend_from_slice(&chunk[..missing.min(chunk.len())]);
        self.size += chunk.len() as u64;
        self.buffer.extend_from_slice(chunk);
        Ok(())
    }

    /// That was all.
    ///
    /// # Errors
    /// As [`Staging::push`].
    pub async fn finish(mut self) -> Result<Staged, Error> {
        self.flush().await?;
        let hash = base16ct::lower::encode_string(&self.written.hash.finalize());
        let missing = || Error::Internal(anyhow::anyhow!("nothing was staged"));
        let (file, path) = self.written.file.ok_or_else(missing)?;
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
    // For as long as somebody has it. Where nothing can be locked, its age alone says so.
    let _ = file.try_lock();
    Ok((file, Some(path)))
}

/// Content that is complete but not kept yet: gone when this is dropped.
#[derive(Debug)]
pub struct Staged {
    /// The first bytes.
    pub head: Vec<u8>,
    /// Bytes.
    pub size: u64,
    /// SHA-256 in hex.
    pub hash: String,
    file: Arc<File>,
    path: Option<TempPath>,
}

impl Staged {
    /// All of it, piece by piece.
    pub fn chunks(&self) -> impl Stream<Item = Result<Bytes, Error>> + Send + use<> {
        reading::pieces(self.file.clone(), 0..self.size)
    }

    /// Some of it.
    pub(super) async fn piece(&self, start: u64, size: u64) -> Result<Bytes, Error> {
        reading::piece(self.file.clone(), start, size).await
    }

    /// Puts the content on the disk under this path, in one step.
    pub(super) fn persist(self, path: &Path) -> io::Result<()> {
        let Some(staged) = self.path else { return Err(io::ErrorKind::InvalidInput.into()) };
        // It may have waited for the parts that came after it; its age counts from now.
        self.file.set_modified(SystemTime::now())?;
        self.file.sync_all()?;
        Ok(staged.persist(path)?)
    }
}
