//! Reads files. Bytes in the page cache are read on the current thread, because a switch to another thread costs more
//! than reading them. Only reads that wait for a disk run on a blocking thread.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use actix_web::body::{BoxBody, SizedStream};
use actix_web::web::{Bytes, BytesMut};
use common::Error;
use futures_util::stream::{self, Stream};

use super::blocking;

/// Bytes of a chunk from the page cache. The server copies a chunk into its own buffer, and reuses that buffer if it
/// has held at most 128 KiB.
const CACHED_CHUNK_BYTES: usize = 64 << 10;
/// Bytes of a chunk from a disk, and the memory limit of one reader.
const DISK_CHUNK_BYTES: usize = 256 << 10;

/// Opens a file.
pub(super) async fn open(path: PathBuf) -> Result<Arc<File>, Error> {
    let file = match cached::open(&path) {
        Some(file) => file,
        None => blocking(move || File::open(path)).await?,
    };
    Ok(Arc::new(file))
}

/// Returns a range of a file as a response body. Reads a short range at once, a longer one while it is sent.
pub(super) async fn body(file: Arc<File>, range: Range<u64>) -> Result<BoxBody, Error> {
    let size = range.end - range.start;
    let first = fit(size, DISK_CHUNK_BYTES);
    if size > first as u64 {
        return Ok(BoxBody::new(SizedStream::new(size, Box::pin(chunks(file, range)))));
    }
    Ok(BoxBody::new(match read_cached(&file, range.start, first, BytesMut::new()) {
        Ok(content) => content,
        Err(buffer) => read_blocking(file, range.start, first, buffer).await?,
    }))
}

/// Reads a range of a file in chunks.
pub(super) fn chunks(file: Arc<File>, range: Range<u64>) -> impl Stream<Item = Result<Bytes, Error>> + Send {
    stream::try_unfold((file, range, Bytes::new()), async |(file, rest, previous)| {
        if rest.is_empty() {
            return Ok(None);
        }
        let left = rest.end - rest.start;
        // The consumer usually has dropped the previous chunk by now, so that its memory can be reused.
        let buffer = previous.try_into_mut().unwrap_or_default();
        let chunk = match read_cached(&file, rest.start, fit(left, CACHED_CHUNK_BYTES), buffer) {
            Ok(chunk) => chunk,
            Err(buffer) => {
                read_blocking(file.clone(), rest.start, fit(left, DISK_CHUNK_BYTES), buffer).await?
            }
        };
        let rest = rest.start + chunk.len() as u64..rest.end;
        Ok(Some((chunk.clone(), (file, rest, chunk))))
    })
}

/// Reads `size` bytes at an offset into memory.
pub(super) async fn read(file: Arc<File>, start: u64, size: u64) -> Result<Bytes, Error> {
    read_blocking(file, start, fit(size, usize::MAX), BytesMut::new()).await
}

async fn read_blocking(
    file: Arc<File>,
    start: u64,
    size: usize,
    mut buffer: BytesMut,
) -> Result<Bytes, Error> {
    blocking(move || {
        buffer.resize(size, 0);
        file.read_exact_at(&mut buffer, start)?;
        Ok(buffer.freeze())
    })
    .await
}

/// Reads bytes from the page cache. Returns the buffer as the error if they are not there.
fn read_cached(file: &File, start: u64, size: usize, mut buffer: BytesMut) -> Result<Bytes, BytesMut> {
    buffer.resize(size, 0);
    if cached::read(file, &mut buffer, start) { Ok(buffer.freeze()) } else { Err(buffer) }
}

fn fit(size: u64, max: usize) -> usize {
    usize::try_from(size).map_or(max, |size| size.min(max))
}

/// Operations of Linux that fail instead of waiting for a disk. The caller falls back to blocking operations after any
/// error.
#[cfg(target_os = "linux")]
mod cached {
    use std::fs::File;
    use std::io::IoSliceMut;
    use std::path::Path;

    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::{ReadWriteFlags, preadv2};

    /// Opens a file if its path is cached.
    pub(crate) fn open(path: &Path) -> Option<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        openat2(CWD, path, flags, Mode::empty(), ResolveFlags::CACHED).ok().map(File::from)
    }

    /// Fills the buffer. Returns false if it could not be filled completely.
    pub(crate) fn read(file: &File, buffer: &mut [u8], start: u64) -> bool {
        let size = buffer.len();
        preadv2(file, &mut [IoSliceMut::new(buffer)], start, ReadWriteFlags::NOWAIT) == Ok(size)
    }
}

#[cfg(not(target_os = "linux"))]
mod cached {
    use std::fs::File;
    use std::path::Path;

    /// Never opens a file.
    pub fn open(_: &Path) -> Option<File> {
        None
    }

    /// Never reads.
    pub fn read(_: &File, _: &mut [u8], _: u64) -> bool {
        false
    }
}
