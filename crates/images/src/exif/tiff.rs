//! Reading a TIFF structure: directories (IFD) with entries of 12 bytes.

use std::ops::Range;

/// Bytes of an entry: tag, type, number of values, and the value or its position.
pub(super) const ENTRY_BYTES: usize = 12;
/// Where an entry has its value, or the position of it.
pub(super) const VALUE_OFFSET: usize = 8;
/// Bytes of the number of entries, before the entries.
const COUNT_BYTES: usize = 2;

/// A TIFF structure.
#[derive(Clone, Copy)]
pub(super) struct Tiff<'a> {
    bytes: &'a [u8],
    is_little_endian: bool,
}

/// A directory, all of whose entries are within the structure.
#[derive(Clone, Copy)]
pub(super) struct Directory {
    at: usize,
    /// The number of entries.
    pub(super) count: usize,
}

impl Directory {
    /// Returns the positions of the entries.
    pub(super) fn entries(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |n| self.at + COUNT_BYTES + n * ENTRY_BYTES)
    }

    /// Returns the bytes of the number of entries.
    pub(super) fn count_range(self) -> Range<usize> {
        self.at..self.at + COUNT_BYTES
    }

    /// Returns the bytes of the directory, without the position of the next one.
    pub(super) fn range(self) -> Range<usize> {
        self.at..self.at + COUNT_BYTES + self.count * ENTRY_BYTES
    }
}

impl<'a> Tiff<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let is_little_endian = match bytes.first_chunk()? {
            b"II*\0" => true,
            b"MM\0*" => false,
            _ => return None,
        };
        Some(Self { bytes, is_little_endian })
    }

    /// Returns the length in bytes.
    pub(super) fn len(self) -> usize {
        self.bytes.len()
    }

    pub(super) fn u16(self, at: usize) -> Option<u16> {
        let bytes = *self.bytes.get(at..)?.first_chunk()?;
        Some(if self.is_little_endian { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    pub(super) fn encode_u16(self, value: u16) -> [u8; 2] {
        if self.is_little_endian { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    pub(super) fn usize(self, at: usize) -> Option<usize> {
        let bytes = *self.bytes.get(at..)?.first_chunk()?;
        let value = if self.is_little_endian { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) };
        usize::try_from(value).ok()
    }

    /// Returns the position of the first directory.
    pub(super) fn first(self) -> Option<usize> {
        self.usize(4)
    }

    /// Returns the directory at a position. Reads the number of its entries only.
    pub(super) fn directory(self, at: usize) -> Option<Directory> {
        let directory = Directory { at, count: usize::from(self.u16(at)?) };
        self.bytes.get(directory.range()).map(|_| directory)
    }

    /// Returns the position of the next directory, or 0. Some writers leave it out.
    pub(super) fn next(self, directory: Directory) -> usize {
        self.usize(directory.range().end).unwrap_or(0)
    }

    /// Returns the tag of the entry at a position.
    pub(super) fn tag(self, entry: usize) -> Option<u16> {
        self.u16(entry)
    }

    /// Returns the range of the value of the entry at a position. It is empty if the value is in the entry itself.
    pub(super) fn value(self, entry: usize) -> Option<Range<usize>> {
        let unit = match self.u16(entry + 2)? {
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            5 | 10 | 12 => 8,
            _ => 1,
        };
        let size = self.usize(entry + 4)?.checked_mul(unit)?;
        if size <= 4 {
            return Some(0..0);
        }
        let start = self.usize(entry + VALUE_OFFSET)?;
        Some(start..start.checked_add(size)?)
    }
}
