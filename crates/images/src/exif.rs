//! EXIF data: a TIFF structure of directories (IFD) with entries of 12 bytes. Reads the orientation, and removes the
//! position and embedded XMP and IPTC data in place.

use std::ops::Range;

/// A copy of the orientation tag, which says how an image must be turned and mirrored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Orientation(u8);

impl Default for Orientation {
    fn default() -> Self {
        Self(1)
    }
}

impl Orientation {
    /// Returns the orientation of a tag's value, 1 to 8.
    pub(crate) fn new(tag: u8) -> Option<Self> {
        (1..=8).contains(&tag).then_some(Self(tag))
    }

    /// Returns true if rows become columns.
    pub(crate) fn swaps_sides(self) -> bool {
        self.0 > 4
    }

    /// Returns the pixel of an image of this width and height that is shown at a position.
    pub(crate) fn source(self, x: u32, y: u32, width: u32, height: u32) -> (u32, u32) {
        let (right, bottom) = (width - 1, height - 1);
        match self.0 {
            2 => (right - x, y),
            3 => (right - x, bottom - y),
            4 => (x, bottom - y),
            5 => (y, x),
            6 => (y, bottom - x),
            7 => (right - y, bottom - x),
            8 => (right - y, x),
            _ => (x, y),
        }
    }
}

const ORIENTATION: u16 = 0x0112;
/// The directory of the position.
const GPS_DIRECTORY: u16 = 0x8825;
/// The directory of EXIF tags.
const EXIF_DIRECTORY: u16 = 0x8769;
/// Entries that contain XMP data, IPTC data, and both.
const PACKETS: [u16; 3] = [0x02bc, 0x83bb, 0x8649];
/// The most directories that are read. Cameras write three or four.
const MAX_DIRECTORIES: usize = 16;
const ENTRY_BYTES: usize = 12;

/// What removing personal data from EXIF data results in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cleaned {
    /// There is none.
    Unchanged,
    /// The EXIF data without it, of the same length.
    Changed(Vec<u8>),
    /// The data cannot be read, so it may contain some.
    Unreadable,
}

/// Returns the orientation that EXIF data states, starting at the TIFF header.
pub(crate) fn orientation(tiff: &[u8]) -> Orientation {
    let tiff = Tiff::new(tiff);
    let find = || {
        let tiff = tiff?;
        let directory = tiff.directory(tiff.first()?)?;
        let entry = directory.entries.iter().find(|entry| entry.tag == ORIENTATION)?;
        Orientation::new(u8::try_from(tiff.u16(entry.at + 8)?).ok()?)
    };
    find().unwrap_or_default()
}

/// Returns EXIF data that states an orientation and nothing else.
pub(crate) fn minimal(orientation: Orientation) -> Vec<u8> {
    let mut tiff = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
    tiff.extend([orientation.0, 0, 0, 0, 0, 0, 0, 0]);
    tiff
}

/// Removes the position, and embedded XMP and IPTC data.
pub(crate) fn cleaned(tiff: &[u8]) -> Cleaned {
    let Some(found) = Tiff::new(tiff).and_then(Tiff::find_personal) else { return Cleaned::Unreadable };
    if found.entries.is_empty() {
        return Cleaned::Unchanged;
    }
    let mut changed = tiff.to_vec();
    for range in found.values {
        match changed.get_mut(range) {
            Some(value) => value.fill(0),
            None => return Cleaned::Unreadable,
        }
    }
    // From the last entry of a directory to the first, so that the positions of the others stay valid.
    for (directory, entry) in found.entries.iter().rev() {
        if remove_entry(&mut changed, *directory, *entry).is_none() {
            return Cleaned::Unreadable;
        }
    }
    let is_clean =
        Tiff::new(&changed).and_then(Tiff::find_personal).is_some_and(|rest| rest.entries.is_empty());
    // Data whose directories overlap may be damaged by the removal.
    if is_clean && orientation(&changed) == orientation(tiff) {
        Cleaned::Changed(changed)
    } else {
        Cleaned::Unreadable
    }
}

/// Removes an entry of a directory: moves the following ones and the position of the next directory up.
fn remove_entry(bytes: &mut [u8], directory: usize, entry: usize) -> Option<()> {
    let tiff = Tiff::new(bytes)?;
    let count = tiff.u16(directory)?;
    let smaller = tiff.encode_u16(count.checked_sub(1)?);
    let end = directory + 2 + usize::from(count) * ENTRY_BYTES + 4;
    if end > bytes.len() || entry + ENTRY_BYTES > end {
        return None;
    }
    bytes[directory..directory + 2].copy_from_slice(&smaller);
    bytes.copy_within(entry + ENTRY_BYTES..end, entry);
    bytes[end - ENTRY_BYTES..end].fill(0);
    Some(())
}

/// What has to be removed.
#[derive(Default)]
struct Personal {
    /// Positions of a directory and of an entry in it.
    entries: Vec<(usize, usize)>,
    /// Values that the entries refer to.
    values: Vec<Range<usize>>,
}

#[derive(Clone, Copy)]
struct Tiff<'a> {
    bytes: &'a [u8],
    is_little_endian: bool,
}

struct Directory {
    entries: Vec<Entry>,
    /// Position of the next directory, or 0.
    next: usize,
    /// The bytes that the directory occupies.
    range: Range<usize>,
}

struct Entry {
    at: usize,
    tag: u16,
}

impl<'a> Tiff<'a> {
    fn new(bytes: &'a [u8]) -> Option<Self> {
        let is_little_endian = match bytes.first_chunk()? {
            b"II*\0" => true,
            b"MM\0*" => false,
            _ => return None,
        };
        Some(Self { bytes, is_little_endian })
    }

    fn u16(self, at: usize) -> Option<u16> {
        let bytes = *self.bytes.get(at..)?.first_chunk()?;
        Some(if self.is_little_endian { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    fn encode_u16(self, value: u16) -> [u8; 2] {
        if self.is_little_endian { value.to_le_bytes() } else { value.to_be_bytes() }
    }

    fn usize(self, at: usize) -> Option<usize> {
        let bytes = *self.bytes.get(at..)?.first_chunk()?;
        let value = if self.is_little_endian { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) };
        usize::try_from(value).ok()
    }

    /// Returns the position of the first directory.
    fn first(self) -> Option<usize> {
        self.usize(4)
    }

    fn directory(self, at: usize) -> Option<Directory> {
        let count = usize::from(self.u16(at)?);
        let end = at + 2 + count * ENTRY_BYTES;
        let positions = (0..count).map(|n| at + 2 + n * ENTRY_BYTES);
        let entries = positions.map(|at| Some(Entry { at, tag: self.u16(at)? })).collect::<Option<_>>()?;
        self.bytes.get(at..end)?;
        // Some writers leave the position of the next directory out.
        Some(Directory { entries, next: self.usize(end).unwrap_or(0), range: at..end })
    }

    /// Returns the range of an entry's value. It is empty if the value is in the entry itself.
    fn value(self, entry: &Entry) -> Option<Range<usize>> {
        let unit = match self.u16(entry.at + 2)? {
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            5 | 10 | 12 => 8,
            _ => 1,
        };
        let size = self.usize(entry.at + 4)?.checked_mul(unit)?;
        if size <= 4 {
            return Some(0..0);
        }
        let start = self.usize(entry.at + 8)?;
        Some(start..start.checked_add(size)?)
    }

    /// Finds the entries with personal data in all directories.
    fn find_personal(self) -> Option<Personal> {
        let mut found = Personal::default();
        let mut open = vec![self.first()?];
        let mut read = Vec::new();
        while let Some(at) = open.pop() {
            if at == 0 || read.contains(&at) {
                continue;
            }
            if read.len() == MAX_DIRECTORIES {
                return None;
            }
            read.push(at);
            let directory = self.directory(at)?;
            for entry in &directory.entries {
                if entry.tag == GPS_DIRECTORY {
                    found.entries.push((at, entry.at));
                    self.add_directory(self.usize(entry.at + 8)?, &mut found.values);
                } else if PACKETS.contains(&entry.tag) {
                    found.entries.push((at, entry.at));
                    found.values.push(self.value(entry)?);
                } else if entry.tag == EXIF_DIRECTORY {
                    open.push(self.usize(entry.at + 8)?);
                }
            }
            open.push(directory.next);
        }
        Some(found)
    }

    /// Adds the ranges of a directory and of its values. A position that is no directory has nothing to remove.
    fn add_directory(self, at: usize, ranges: &mut Vec<Range<usize>>) {
        let Some(directory) = self.directory(at) else { return };
        let values = directory.entries.iter().filter_map(|entry| self.value(entry));
        ranges.extend(values.filter(|range| range.end <= self.bytes.len()));
        ranges.push(directory.range);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::samples::exif_with_position;

    #[test]
    fn the_position_is_removed_in_place() {
        for is_little_endian in [true, false] {
            let tiff = exif_with_position(6, is_little_endian);
            let Cleaned::Changed(changed) = cleaned(&tiff) else { panic!("{is_little_endian}") };
            assert_eq!(changed.len(), tiff.len());
            assert_eq!(orientation(&changed), Orientation(6));
            let has = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
            assert!(has(&tiff, b"SECRET-POSITION") && !has(&changed, b"SECRET-POSITION"));
            assert!(has(&changed, b"Camera"), "other tags stay");
            assert_eq!(cleaned(&changed), Cleaned::Unchanged);
        }
    }

    #[test]
    fn minimal_data_states_the_orientation() {
        for tag in 1..=8 {
            let tiff = minimal(Orientation(tag));
            assert_eq!(orientation(&tiff), Orientation(tag));
            assert_eq!(cleaned(&tiff), Cleaned::Unchanged);
        }
        assert_eq!(cleaned(b"junk"), Cleaned::Unreadable);
    }

    proptest! {
        #[test]
        fn any_data_is_cleaned_or_unreadable(bytes in prop::collection::vec(any::<u8>(), 0..80), at in 0usize..200, value: u8) {
            let mut damaged = exif_with_position(3, true);
            if let Some(byte) = damaged.get_mut(at) {
                *byte = value;
            }
            for tiff in [[&b"II*\0\x08\0\0\0"[..], &bytes].concat(), damaged] {
                if let Cleaned::Changed(changed) = cleaned(&tiff) {
                    prop_assert_eq!(changed.len(), tiff.len());
                    prop_assert_eq!(cleaned(&changed), Cleaned::Unchanged);
                    prop_assert_eq!(orientation(&changed), orientation(&tiff));
                }
            }
        }
    }
}
