//! The ZIP archive that a workbook is: its central directory, and its parts one at a time, none beyond its limit.

use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Take};

use flate2::read::DeflateDecoder;

use super::super::Fault;

/// The most bytes of the central directory; a workbook's has some thousand.
const DIRECTORY_MAX: usize = 4 << 20;
const END: &[u8] = b"PK\x05\x06";
const ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";

/// Parts by name, in lower case.
pub struct Archive(HashMap<String, Part>);

/// Where a part is.
#[derive(Clone, Copy)]
pub struct Part {
    offset: u64,
    packed: u64,
    method: u16,
    encrypted: bool,
}

impl Archive {
    pub fn open(mut file: &File) -> Result<Self, Fault> {
        let size = file.seek(SeekFrom::End(0))?;
        let tail_size = size.min(22 + 0xffff);
        let tail = read(file, size - tail_size, tail_size)?;
        let end = tail.windows(END.len()).rposition(|bytes| bytes == END).ok_or_else(damaged)?;
        let (length, offset) = (long(&tail, end + 12)?, long(&tail, end + 16)?);
        // 0xffffffff stands for sizes past 4 GiB too, which no workbook here has.
        if length > DIRECTORY_MAX as u64 {
            return Err(Fault::TooLarge(DIRECTORY_MAX));
        }
        let directory = read(file, offset, length)?;
        let (mut parts, mut at) = (HashMap::new(), 0);
        while directory.get(at..at + 4) == Some(ENTRY) {
            let [name, extra, comment] =
                [28, 30, 32].map(|field| short(&directory, at + field).map(usize::from));
            let part = Part {
                encrypted: short(&directory, at + 8)? & 1 == 1,
                method: short(&directory, at + 10)?,
                packed: long(&directory, at + 20)?,
                offset: long(&directory, at + 42)?,
            };
            let end = at + 46 + name?;
            let name = String::from_utf8_lossy(directory.get(at + 46..end).ok_or_else(damaged)?);
            parts.insert(name.replace('\\', "/").to_ascii_lowercase(), part);
            at = end + extra? + comment?;
        }
        Ok(Self(parts))
    }

    /// The part of this name, without regard to case, `/` at the beginning or not.
    pub fn part(&self, name: &str) -> Option<Part> {
        self.0.get(&name.trim_start_matches('/').to_ascii_lowercase()).copied()
    }
}

impl Part {
    /// The content, of which more than `limit` bytes are an error.
    pub fn unpack<R: Read + Seek>(self, mut file: R, limit: usize) -> Result<Content<R>, Fault> {
        file.seek(SeekFrom::Start(self.offset))?;
        let mut header = [0; 30];
        file.read_exact(&mut header)?;
        if !header.starts_with(LOCAL) || self.encrypted {
            return Err(damaged());
        }
        let skip = i64::from(short(&header, 26)?) + i64::from(short(&header, 28)?);
        file.seek(SeekFrom::Current(skip))?;
        let packed = file.take(self.packed);
        let inner = match self.method {
            0 => Inner::Stored(packed),
            8 => Inner::Deflated(DeflateDecoder::new(packed)),
            _ => return Err(damaged()),
        };
        Ok(Content { inner, limit, left: limit })
    }
}

/// An unpacked part.
pub struct Content<R> {
    inner: Inner<R>,
    pub limit: usize,
    left: usize,
}

enum Inner<R> {
    Stored(Take<R>),
    Deflated(DeflateDecoder<Take<R>>),
}

impl<R: Read> Read for Content<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = match &mut self.inner {
            Inner::Stored(inner) => inner.read(buffer)?,
            Inner::Deflated(inner) => inner.read(buffer)?,
        };
        self.left = self.left.checked_sub(read).ok_or(ErrorKind::FileTooLarge)?;
        Ok(read)
    }
}

fn read(mut file: &File, offset: u64, length: u64) -> Result<Vec<u8>, Fault> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    let read = file.take(length).read_to_end(&mut bytes)?;
    if read as u64 == length { Ok(bytes) } else { Err(damaged()) }
}

fn short(bytes: &[u8], at: usize) -> Result<u16, Fault> {
    let bytes = bytes.get(at..at + 2).ok_or_else(damaged)?;
    Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn long(bytes: &[u8], at: usize) -> Result<u64, Fault> {
    Ok(u64::from(short(bytes, at)?) | u64::from(short(bytes, at + 2)?) << 16)
}

fn damaged() -> Fault {
    Fault::unreadable("is a damaged or encrypted archive, or cut off", None)
}
