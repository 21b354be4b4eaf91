//! The items of AVIF and HEIC: images, and metadata.

use std::collections::HashMap;
use std::io::{self, Read, Seek};
use std::ops::Range;

use super::edits::Edits;
use crate::exif::{self, Cleaned};
use crate::reader::Reader;

/// The types of items that are images.
const IMAGES: [&[u8; 4]; 17] = [
    b"hvc1", b"hev1", b"lhv1", b"av01", b"avc1", b"vvc1", b"evc1", b"j2k1", b"jpeg", b"unci", b"grid",
    b"iovl", b"iden", b"tmap", b"mski", b"lhe1", b"sato",
];
const EXIF: &[u8; 4] = b"Exif";
/// Larger EXIF data is erased. JPEG allows 64 KiB.
const MAX_EXIF_BYTES: u64 = 1 << 20;
/// The most items with EXIF data that are cleaned. Cameras write one for each photo.
const MAX_EXIF_ITEMS: usize = 16;
/// The most names that are erased one by one. The rest of a list with more of them is erased as a whole.
pub(super) const MAX_NAMES: usize = 1_000;
/// The most parts of all items. Cameras write one for each item.
const MAX_PARTS: usize = 10_000;

/// The parts of the items, in the content.
#[derive(Default)]
pub(super) struct Items {
    unknown: Vec<Range<u64>>,
    /// The names of the items and of the handler, which are texts of any content.
    names: Vec<Range<u64>>,
    exif: Vec<Vec<Range<u64>>>,
    images: Vec<Range<u64>>,
    /// Whether the parts of all items were found.
    is_complete: bool,
}

impl Items {
    /// Reads the list of items from the content of the box `meta`, which is at this position. Items of lists that
    /// cannot be read are not found.
    pub(super) fn parse(meta: &[u8], at: u64) -> Self {
        let mut items = Self::default();
        let mut first = HashMap::new();
        for (name, content) in children(meta.get(4..).unwrap_or_default()) {
            first.entry(name).or_insert(content);
        }
        let children = first;
        // The name of the handler comes after its version, its type and reserved bytes.
        let handler = children.get(b"hdlr").and_then(|handler| handler.get(24..));
        items.names.extend(handler.and_then(|text| name(text, at + offset_in(meta, text))));
        let Some(iinf) = children.get(b"iinf") else { return items };
        let end = at + offset_in(meta, iinf) + iinf.len() as u64;
        let names = entries(iinf).filter_map(|(_, entry)| name_of_item(entry));
        let names = names.filter_map(|text| name(text, at + offset_in(meta, text)));
        let or_rest = |(n, name): (usize, Range<u64>)| if n < MAX_NAMES { name } else { name.start..end };
        items.names.extend(names.take(MAX_NAMES + 1).enumerate().map(or_rest));
        let types = types(iinf);
        let data = children.get(b"idat").map(|idat| at + offset_in(meta, idat));
        let Some(iloc) = children.get(b"iloc") else { return items };
        let mut is_known = true;
        let read = locations(iloc, data, &mut |id, parts| match types.get(&id) {
            Some(name) if name == EXIF => items.exif.push(parts),
            Some(name) if !IMAGES.contains(&name) => items.unknown.extend(parts),
            Some(_) => {
                // A part without a length reaches to the end of the content.
                is_known &= parts.iter().all(|part| part.start < part.end);
                items.images.extend(parts);
            }
            None => is_known = false,
        });
        items.is_complete = is_known && read.is_some();
        items
    }

    /// Returns the names of the items and of the handler that are not empty.
    pub(super) fn names(&mut self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.names)
    }

    /// Returns the parts of items that are neither images nor EXIF data.
    pub(super) fn unknown(&mut self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.unknown)
    }

    /// Returns the parts of items with EXIF data.
    pub(super) fn exif(&mut self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.exif).into_iter().flatten().collect()
    }

    /// Returns the parts of images and EXIF data, or `None` if there may be more.
    pub(super) fn used(&self) -> Option<Vec<Range<u64>>> {
        let parts = || self.images.iter().chain(self.exif.iter().flatten()).cloned();
        self.is_complete.then(|| parts().collect())
    }

    /// Cleans EXIF data. What cannot be read is added to `erased`.
    pub(super) fn clean_exif(
        &self,
        reader: &mut Reader<impl Read + Seek>,
        erased: &mut Vec<Range<u64>>,
        edits: &mut Edits,
    ) -> io::Result<()> {
        for (n, parts) in self.exif.iter().enumerate() {
            match &parts[..] {
                // A part without a length reaches to the end of the content.
                [part] if part.is_empty() => erased.push(part.start..reader.size),
                [part] if n < MAX_EXIF_ITEMS && part.end - part.start <= MAX_EXIF_BYTES => {
                    reader.seek(part.start)?;
                    let data = reader.bytes(part.end - part.start)?;
                    // The position of the TIFF header follows.
                    let tiff = number(&data, 0, 4)
                        .and_then(|at| data.get(usize::try_from(at).ok()?.checked_add(4)?..));
                    match tiff.map(|tiff| (tiff, exif::cleaned(tiff))) {
                        Some((_, Cleaned::Unchanged)) => {}
                        Some((tiff, Cleaned::Changed(changed))) => {
                            edits.replace_difference(part.end - tiff.len() as u64, tiff, &changed);
                        }
                        _ => erased.push(part.clone()),
                    }
                }
                parts => erased.extend(parts.iter().cloned()),
            }
        }
        Ok(())
    }
}

/// Returns the boxes in content: name and content.
fn children(mut bytes: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        // As the lengths of boxes of the file.
        let (length, header) = match number(bytes, 0, 4)? {
            0 => (bytes.len() as u64, 8),
            1 => (number(bytes, 8, 8)?, 16),
            length => (length, 8),
        };
        let end = usize::try_from(length).map_or(bytes.len(), |length| length.min(bytes.len()));
        let name = *bytes.get(4..)?.first_chunk()?;
        let content = bytes.get(header..end)?;
        bytes = &bytes[end..];
        Some((name, content))
    })
}

/// Returns where a part of content is within it.
fn offset_in(content: &[u8], part: &[u8]) -> u64 {
    (part.as_ptr().addr() - content.as_ptr().addr()) as u64
}

/// Returns the number of this many bytes, 0 to 8, at a position.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// Returns the descriptions of the items.
fn entries(iinf: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    children(iinf.get(if iinf.first() == Some(&0) { 6 } else { 8 }..).unwrap_or_default())
}

/// Returns a description of an item from its name on.
fn name_of_item(entry: &[u8]) -> Option<&[u8]> {
    let begin = match entry.first()? {
        2 => 12,
        3 => 14,
        _ => 8,
    };
    entry.get(begin..)
}

/// Returns where a name is that ends with a NUL byte, unless it is empty. `at` is where it begins.
fn name(text: &[u8], at: u64) -> Option<Range<u64>> {
    let length = text.iter().position(|byte| *byte == 0).unwrap_or(text.len()) as u64;
    (length > 0).then(|| at..at + length)
}

/// Returns the types of the items, by id.
fn types(iinf: &[u8]) -> HashMap<u64, [u8; 4]> {
    let entry = |(name, entry): ([u8; 4], &[u8])| {
        // Version 2 has ids of two bytes, version 3 of four. Both have two bytes between the id and the type.
        let id_bytes = match entry.first()? {
            2 => 2,
            3 => 4,
            _ => return None,
        };
        let kind = *entry.get(6 + id_bytes..)?.first_chunk()?;
        (&name == b"infe").then_some((number(entry, 4, id_bytes)?, kind))
    };
    entries(iinf).filter_map(entry).collect()
}

/// Calls `found` with each item and its parts. `data` is where the data within the box `meta` is.
fn locations(iloc: &[u8], data: Option<u64>, found: &mut impl FnMut(u64, Vec<Range<u64>>)) -> Option<()> {
    let version = *iloc.first()?;
    let sizes = number(iloc, 4, 2)?;
    let size = |shift: u32| ((sizes >> shift) & 15).min(8) as usize;
    let (offset_bytes, length_bytes, base_bytes, index_bytes) = (size(12), size(8), size(4), size(0));
    let id_bytes = if version < 2 { 2 } else { 4 };
    let mut at = 6;
    let mut next = |length: usize| {
        let number = number(iloc, at, length);
        at += length;
        number
    };
    let (count, mut parts_left) = (next(id_bytes)?, MAX_PARTS);
    for _ in 0..count {
        let id = next(id_bytes)?;
        let method = if version == 0 { 0 } else { next(2)? & 15 };
        next(2)?;
        let base = next(base_bytes)?;
        let start = match method {
            0 => Some(0),
            1 => data,
            _ => None,
        };
        let mut parts = Vec::new();
        for _ in 0..next(2)? {
            parts_left = parts_left.checked_sub(1)?;
            if version > 0 {
                next(index_bytes)?;
            }
            let (offset, length) = (next(offset_bytes)?, next(length_bytes)?);
            let begin = start.and_then(|start| start.checked_add(base)?.checked_add(offset));
            parts.extend(begin.map(|begin| begin..begin.saturating_add(length)));
        }
        found(id, parts);
    }
    Some(())
}
