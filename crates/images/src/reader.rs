//! Reads content in any order, a few bytes at a time.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::ControlFlow;

/// Bytes that are searched at once.
const CHUNK_BYTES: u64 = 64 << 10;
/// Longer than each text that is searched for.
const OVERLAP: usize = 32;

/// Content, with the position of the next byte.
pub(crate) struct Reader<R> {
    content: BufReader<R>,
    position: u64,
    /// Length of the content in bytes.
    pub(crate) size: u64,
}

impl<R: Read + Seek> Reader<R> {
    pub(crate) fn new(mut content: R) -> io::Result<Self> {
        let size = content.seek(SeekFrom::End(0))?;
        content.seek(SeekFrom::Start(0))?;
        Ok(Self { content: BufReader::with_capacity(64 << 10, content), position: 0, size })
    }

    /// Returns the position of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Returns the next byte, or `None` at the end.
    pub(crate) fn byte(&mut self) -> io::Result<Option<u8>> {
        Ok(self.array::<1>()?.map(|[byte]| byte))
    }

    /// Returns the next bytes, or `None` if there are fewer.
    pub(crate) fn array<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        if self.size - self.position < N as u64 {
            self.seek(self.size)?;
            return Ok(None);
        }
        let mut bytes = [0; N];
        self.content.read_exact(&mut bytes)?;
        self.position += N as u64;
        Ok(Some(bytes))
    }

    /// Returns up to `max` of the next bytes.
    pub(crate) fn bytes(&mut self, max: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = (&mut self.content).take(max.min(self.size - self.position)).read_to_end(&mut bytes)?;
        self.position += read as u64;
        Ok(bytes)
    }

    /// Continues at a position, at most at the end.
    pub(crate) fn seek(&mut self, position: u64) -> io::Result<()> {
        let position = position.min(self.size);
        self.content.seek_relative(position.cast_signed() - self.position.cast_signed())?;
        self.position = position;
        Ok(())
    }

    /// Continues at the next byte of this value. Returns false at the end.
    pub(crate) fn skip_to(&mut self, byte: u8) -> io::Result<bool> {
        loop {
            let buffer = self.content.fill_buf()?;
            let (length, found) = match buffer.iter().position(|next| *next == byte) {
                Some(at) => (at, true),
                None => (buffer.len(), false),
            };
            let is_end = buffer.is_empty();
            self.content.consume(length);
            self.position += length as u64;
            if found || is_end {
                return Ok(found);
            }
        }
    }

    /// Calls `found` with each position of each text in the rest of the content, until it breaks. Afterwards the next
    /// byte is any of the rest.
    pub(crate) fn find_all(
        &mut self,
        texts: &[&[u8]],
        mut found: impl FnMut(u64, usize) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut window = Vec::new();
        loop {
            let chunk = self.bytes(CHUNK_BYTES)?;
            let is_end = chunk.is_empty();
            window.extend(chunk);
            // Texts that begin in the overlap are found with the next chunk.
            let searched = if is_end { window.len() } else { window.len().saturating_sub(OVERLAP) };
            let start = self.position - window.len() as u64;
            for (at, _) in window.iter().enumerate().take(searched) {
                for (n, text) in texts.iter().enumerate() {
                    if window[at..].starts_with(text) && found(start + at as u64, n).is_break() {
                        return Ok(());
                    }
                }
            }
            if is_end {
                return Ok(());
            }
            window.drain(..searched);
        }
    }
}
