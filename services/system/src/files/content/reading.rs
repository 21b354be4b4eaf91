//! Reading files. What the machine has in memory is read there and then: a thread of its own, and the way there and
//! back, cost more than such a piece does. Only where a disk would be waited for, a thread waits for it.

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

/// A piece of what is in memory. The server copies it into a buffer of its own, and keeps that for the next one if no
/// more than 128 KiB came to lie there.
const WARM: usize = 64 << 10;
/// A piece of what is on a disk, and as much as one reader ever holds.
const COLD: usize = 256 << 10;

/// Opens a file.
pub(super) async fn open(path: PathBuf) -> Result<Arc<File>, Error> {
    let file = match cached::open(&path) {
        Some(file) => file,
        None => blocking(move || File::open(path)).await?,
    };
    Ok(Arc::new(file))
}

/// Bytes of a file, as the body of an answer: a few at once, more as they are sent.
pub(super) async fn body(file: Arc<File>, bytes: Range<u64>) -> Result<BoxBody, Error> {
    let size = bytes.end - bytes.start;
    let few = fit(size, COLD);
    if size > few as u64 {
        return Ok(BoxBody::new(SizedStream::new(size, Box::pin(pieces(file, bytes)))));
    }
    Ok(BoxBody::new(match warm(&file, bytes.start, few, BytesMut::new()) {
        Ok(content) => content,
        Err(buffer) => cold(file, bytes.start, few, buffer).await?,
    }))
}

/// Bytes of a file, piece by piece.
pub(super) fn pieces(file: Arc<File>, bytes: Range<u64>) -> impl Stream<Item = Result<Bytes, Error>> + Send {
    stream::try_unfold((file, bytes, Bytes::new()), async |(file, rest, sent)| {
        if rest.is_empty() {
            return Ok(None);
        }
        let left = rest.end - rest.start;
        // Whoever took the last piece has done with it by now: its memory takes the next one.
        let buffer = sent.try_into_mut().unwrap_or_default();
        let piece = match warm(&file, rest.start, fit(left, WARM), buffer) {
            Ok(piece) => piece,
            Err(buffer) => cold(file.clone(), rest.start, fit(left, COLD), buffer).await?,
        };
        let next = rest.start + piece.len() as u64..rest.end;
        Ok(Some((piece.clone(), (file, next, piece))))
    })
}

/// Some bytes, wherever they are.
pub(super) async fn piece(file: Arc<File>, start: u64, size: u64) -> Result<Bytes, Error> {
    cold(file, start, fit(size, usize::MAX), BytesMut::new()).await
}

async fn cold(file: Arc<File>, start: u64, size: usize, mut buffer: BytesMut) -> Result<Bytes, Error> {
    blocking(move || {
        buffer.resize(size, 0);
        file.read_exact_at(&mut buffer, start)?;
        Ok(buffer.freeze())
    })
    .await
}

/// Bytes that are in memory; else the buffer back.
fn warm(file: &File, start: u64, size: usize, mut buffer: BytesMut) -> Result<Bytes, BytesMut> {
    buffer.resize(size, 0);
    if cached::read(file, &mut buffer, start) { Ok(buffer.freeze()) } else { Err(buffer) }
}

fn fit(size: u64, most: usize) -> usize {
    usize::try_from(size).map_or(most, |size| size.min(most))
}

/// What Linux does only as far as it need not wait. Where it cannot tell, or something is wrong, nothing is done.
#[cfg(target_os = "linux")]
mod cached {
    use std::fs::File;
    use std::io::IoSliceMut;
    use std::path::Path;

    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::{ReadWriteFlags, preadv2};

    pub fn open(path: &Path) -> Option<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        openat2(CWD, path, flags, Mode::empty(), ResolveFlags::CACHED).ok().map(File::from)
    }

    /// True when the whole buffer is filled.
    pub fn read(file: &File, buffer: &mut [u8], start: u64) -> bool {
        let size = buffer.len();
        preadv2(file, &mut [IoSliceMut::new(buffer)], start, ReadWriteFlags::NOWAIT) == Ok(size)
    }
}

#[cfg(not(target_os = "linux"))]
mod cached {
    use std::fs::File;
    use std::path::Path;

    pub fn open(_: &Path) -> Option<File> {
        None
    }

    pub fn read(_: &File, _: &mut [u8], _: u64) -> bool {
        false
    }
}
