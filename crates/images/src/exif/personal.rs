//! Finding and erasing personal data in EXIF data. The work is proportional to the length of the data, also for data
//! that was made to take long: the number of entries is limited, and each byte is erased once.

use std::ops::Range;

use super::tiff::{Directory, ENTRY_BYTES, Tiff, VALUE_OFFSET};

/// The directory of the position.
const GPS_DIRECTORY: u16 = 0x8825;
/// The directory of EXIF tags.
const EXIF_DIRECTORY: u16 = 0x8769;
/// Entries that contain XMP data, IPTC data, and both.
const PACKETS: [u16; 3] = [0x02bc, 0x83bb, 0x8649];
/// The most directories that are read. Cameras write three or four.
const MAX_DIRECTORIES: usize = 16;
/// The most entries that are read, in all directories. Cameras write up to some hundred.
pub(super) const MAX_ENTRIES: usize = 1_000;
/// Bytes of the position of the next directory, after the entries.
const NEXT_BYTES: usize = 4;

/// What has to be removed.
#[derive(Default)]
pub(super) struct Personal {
    /// Directories, and the positions of those of their entries that are removed, in ascending order.
    entries: Vec<(Directory, Vec<usize>)>,
    /// Values that the entries refer to.
    values: Vec<Range<usize>>,
}

/// Finds the entries with personal data in all directories. Returns `None` if the data cannot be read, or has more than
/// [`MAX_ENTRIES`].
pub(super) fn find(tiff: Tiff) -> Option<Personal> {
    let mut search = Search { tiff, found: Personal::default(), entries_left: MAX_ENTRIES };
    search.run()?;
    Some(search.found)
}

struct Search<'a> {
    tiff: Tiff<'a>,
    found: Personal,
    entries_left: usize,
}

impl Search<'_> {
    fn run(&mut self) -> Option<()> {
        let mut open = vec![self.tiff.first()?];
        let mut read = Vec::new();
        while let Some(at) = open.pop() {
            if at == 0 || read.contains(&at) {
                continue;
            }
            if read.len() == MAX_DIRECTORIES {
                return None;
            }
            read.push(at);
            let directory = self.tiff.directory(at)?;
            self.count(directory)?;
            let mut entries = Vec::new();
            for entry in directory.entries() {
                match self.tiff.tag(entry)? {
                    GPS_DIRECTORY => {
                        entries.push(entry);
                        self.add_directory(self.tiff.usize(entry + VALUE_OFFSET)?)?;
                    }
                    EXIF_DIRECTORY => open.push(self.tiff.usize(entry + VALUE_OFFSET)?),
                    tag if PACKETS.contains(&tag) => {
                        entries.push(entry);
                        self.found.values.push(self.tiff.value(entry)?);
                    }
                    _ => {}
                }
            }
            if !entries.is_empty() {
                self.found.entries.push((directory, entries));
            }
            open.push(self.tiff.next(directory));
        }
        Some(())
    }

    /// Counts the entries of a directory. Returns `None` if there are too many.
    fn count(&mut self, directory: Directory) -> Option<()> {
        self.entries_left = self.entries_left.checked_sub(directory.count)?;
        Some(())
    }

    /// Adds the ranges of a directory and of its values. A position that is no directory has nothing to remove.
    fn add_directory(&mut self, at: usize) -> Option<()> {
        let Some(directory) = self.tiff.directory(at) else { return Some(()) };
        self.count(directory)?;
        let values = directory.entries().filter_map(|entry| self.tiff.value(entry));
        self.found.values.extend(values.filter(|range| range.end <= self.tiff.len()));
        self.found.values.push(directory.range());
        Some(())
    }
}

impl Personal {
    /// Returns true if there is nothing to remove.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Overwrites the values with zeros and removes the entries. `bytes` is a copy of `tiff`. Returns `None` if a value
    /// is not within the data.
    pub(super) fn erase(mut self, tiff: Tiff, bytes: &mut [u8]) -> Option<()> {
        self.values.sort_by_key(|range| range.start);
        let mut erased = 0;
        for range in self.values {
            // Ranges may overlap.
            let start = range.start.max(erased);
            if start < range.end {
                bytes.get_mut(start..range.end)?.fill(0);
                erased = range.end;
            }
        }
        for (directory, entries) in self.entries {
            remove_entries(tiff, bytes, directory, &entries)?;
        }
        Some(())
    }
}

/// Removes entries of a directory: moves the others and the position of the next directory up.
fn remove_entries(tiff: Tiff, bytes: &mut [u8], directory: Directory, entries: &[usize]) -> Option<()> {
    let end = directory.range().end + NEXT_BYTES;
    if end > bytes.len() {
        return None;
    }
    let count = u16::try_from(directory.count.checked_sub(entries.len())?).ok()?;
    bytes[directory.count_range()].copy_from_slice(&tiff.encode_u16(count));
    let mut removed = entries.iter().copied().peekable();
    let mut to = directory.count_range().end;
    for from in directory.entries() {
        if removed.next_if_eq(&from).is_none() {
            bytes.copy_within(from..from + ENTRY_BYTES, to);
            to += ENTRY_BYTES;
        }
    }
    bytes.copy_within(end - NEXT_BYTES..end, to);
    bytes[to + NEXT_BYTES..end].fill(0);
    Some(())
}
