//! Finding and erasing what is not known to be harmless in EXIF data. The work is proportional to the length of the
//! data, also for data that was made to take long: the number of entries is limited, and each byte is erased once.

use std::ops::{Range, RangeInclusive};

use super::tiff::{Directory, ENTRY_BYTES, Tiff, VALUE_OFFSET};

/// The directory of the position.
const GPS_DIRECTORY: u16 = 0x8825;
/// The directory of EXIF tags.
const EXIF_DIRECTORY: u16 = 0x8769;
/// Where a smaller JPEG is, and how many bytes it has.
const THUMBNAIL: u16 = 0x0201;
const THUMBNAIL_BYTES: u16 = 0x0202;
/// The tags that stay: size and colours, what was used to take the image, how and when it was taken, and the
/// description, the author and the copyright, which stay in PNG too. Not among them are positions, serial numbers, the
/// owner of the camera, comments, notes of the maker, XMP and IPTC data, and directories that are not known.
const KEPT: [RangeInclusive<u16>; 32] = [
    0x0100..=0x0103,
    0x0106..=0x0106,
    0x010e..=0x0110,
    0x0112..=0x0112,
    0x0115..=0x0115,
    0x011a..=0x011c,
    0x0128..=0x0128,
    0x0131..=0x0132,
    0x013b..=0x013b,
    0x013e..=0x013f,
    0x0211..=0x0214,
    0x8298..=0x8298,
    0x829a..=0x829a,
    0x829d..=0x829d,
    EXIF_DIRECTORY..=EXIF_DIRECTORY,
    0x8822..=0x8822,
    0x8824..=0x8824,
    0x8827..=0x8827,
    0x8830..=0x8835,
    0x9000..=0x9000,
    0x9003..=0x9004,
    0x9010..=0x9012,
    0x9101..=0x9102,
    0x9201..=0x920a,
    0x9214..=0x9214,
    0x9290..=0x9292,
    0xa000..=0xa003,
    0xa20e..=0xa210,
    0xa214..=0xa217,
    0xa300..=0xa302,
    0xa401..=0xa40c,
    0xa432..=0xa434,
];
/// The most directories that are read. Cameras write three or four.
const MAX_DIRECTORIES: usize = 16;
/// The most entries that are read, in all directories. Cameras write up to some hundred.
pub(super) const MAX_ENTRIES: usize = 1_000;
/// Bytes before the directories: the byte order, and the position of the first directory.
const HEADER_BYTES: usize = 8;
/// Bytes of the position of the next directory, after the entries.
const NEXT_BYTES: usize = 4;

/// What has to be removed.
#[derive(Default)]
pub(super) struct Personal {
    /// Directories, and the positions of those of their entries that are removed, in ascending order.
    entries: Vec<(Directory, Vec<usize>)>,
    /// Values that the entries refer to.
    values: Vec<Range<usize>>,
    /// The directories, and the values of the entries that stay.
    kept: Vec<Range<usize>>,
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
            let range = directory.range();
            self.found.kept.push(range.start..range.end + NEXT_BYTES);
            let (mut entries, mut thumbnail) = (Vec::new(), 0..0);
            for entry in directory.entries() {
                let tag = self.tiff.tag(entry)?;
                if tag == EXIF_DIRECTORY {
                    open.push(self.tiff.usize(entry + VALUE_OFFSET)?);
                }
                if KEPT.iter().any(|kept| kept.contains(&tag)) {
                    self.found.kept.extend(self.tiff.value(entry));
                    continue;
                }
                entries.push(entry);
                match tag {
                    GPS_DIRECTORY => self.add_directory(self.tiff.usize(entry + VALUE_OFFSET)?)?,
                    THUMBNAIL => thumbnail.start = self.tiff.usize(entry + VALUE_OFFSET)?,
                    THUMBNAIL_BYTES => thumbnail.end = self.tiff.usize(entry + VALUE_OFFSET)?,
                    _ => self.found.values.push(self.tiff.value(entry)?),
                }
            }
            // Until here the end is the number of bytes.
            thumbnail.end = thumbnail.start.checked_add(thumbnail.end)?;
            self.found.values.push(thumbnail);
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
    /// Returns true if there is no entry to remove.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds all bytes that belong to nothing that stays, such as directories that are not known, what notes of the
    /// maker refer to, and what is after the last value. `length` is that of the data.
    pub(super) fn add_rest(&mut self, length: usize) {
        let mut end = HEADER_BYTES;
        self.kept.sort_by_key(|range| range.start);
        for range in &self.kept {
            self.values.push(end..range.start.min(length));
            end = end.max(range.end);
        }
        self.values.push(end..length);
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
