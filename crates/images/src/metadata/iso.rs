//! AVIF and HEIC: boxes that refer to each other by position, so what is removed is overwritten in place. Boxes that
//! are not known become free space, and items that are not images are erased. EXIF and XMP data is also found by how it
//! begins, in boxes that cannot be read.

use std::collections::HashSet;
use std::io::{self, Read, Seek};
use std::ops::{ControlFlow, Range};

use super::edits::{Edits, MAX_EDITS, MAX_PADDING_BYTES};
use super::items::Items;
use crate::exif::{self, Cleaned};
use crate::reader::Reader;

/// The headers of TIFF structures whose first directory follows at once, as all writers have it.
const TIFF: [&[u8]; 2] = [b"II*\0\x08\0\0\0", b"MM\0*\0\0\0\x08"];
const XMP_START: &[u8] = b"<x:xmpmeta";
const XMP_END: &[u8] = b"</x:xmpmeta>";
/// EXIF data is looked for up to this size. JPEG allows 64 KiB.
const EXIF_BYTES: u64 = 64 << 10;
/// The most of these texts that are looked at. Cameras write one of each. Content from the next one on is removed,
/// because looking at each takes reading [`EXIF_BYTES`].
pub(super) const MAX_TEXTS: usize = 200;
/// The most bytes of the box that lists the items. Cameras write some ten thousand.
const MAX_META_BYTES: u64 = 4 << 20;
/// The most boxes that are read. Of content with more of them the rest is removed.
const MAX_BOXES: usize = MAX_EDITS;

/// Free space: boxes that stay, without their content.
const FREE: &[&[u8; 4]] = &[b"free", b"skip", b"wide"];
/// The boxes that stay, in the file and within each box that contains boxes.
const FILE: &[&[u8; 4]] = &[b"ftyp", b"styp", b"meta", b"mdat", b"moov", b"moof", b"mfra", b"sidx", b"pdin"];
const META: &[&[u8; 4]] =
    &[b"hdlr", b"pitm", b"iloc", b"iinf", b"iref", b"iprp", b"idat", b"dinf", b"grpl", b"ipro"];
const PROPERTIES: &[&[u8; 4]] = &[b"ipco", b"ipma"];
/// What an item looks like and how it is coded. Names, descriptions and times are not among these.
const PROPERTY: &[&[u8; 4]] = &[
    b"ispe", b"pixi", b"colr", b"pasp", b"clap", b"irot", b"imir", b"auxC", b"hvcC", b"lhvC", b"av1C",
    b"avcC", b"vvcC", b"evcC", b"jpgC", b"uncC", b"cmpd", b"a1op", b"a1lx", b"lsel", b"oinf", b"tols",
    b"rloc", b"iscl", b"rref", b"rrtp", b"clli", b"mdcv", b"cclv", b"amve", b"ndwt", b"reve",
];
const MOVIE: &[&[u8; 4]] = &[b"mvhd", b"trak", b"mvex", b"iods"];
const TRACK: &[&[u8; 4]] = &[b"tkhd", b"mdia", b"edts", b"tref", b"trgr"];
const MEDIA: &[&[u8; 4]] = &[b"mdhd", b"hdlr", b"minf", b"elng"];
/// Which items belong together.
const GROUPS: &[&[u8; 4]] = &[b"altr", b"ster", b"eqiv", b"brst", b"tsyn", b"pymd", b"pano"];
/// Bytes of a handler before its name.
const HANDLER_BYTES: u64 = 24;

pub(super) fn find(reader: &mut Reader<impl Read + Seek>) -> io::Result<Edits> {
    let mut edits = Edits::default();
    let mut boxes = Boxes::default();
    let size = reader.size;
    boxes.read(reader, 0..size, FILE)?;
    if let Some(items) = &boxes.items {
        items.clean_exif(reader, &mut boxes.erased, &mut edits)?;
        if let Some(used) = items.used().filter(|_| !boxes.has_samples) {
            boxes.erased.extend(unused(boxes.data, used, size));
        }
    }
    for range in merged(boxes.erased, size) {
        edits.erase(range.start, range.end);
    }
    for at in boxes.freed {
        // The name of a box that is within erased content is erased too.
        if !edits.touches(at, at + 4) {
            edits.replace(at, at + 4, b"free".to_vec());
        }
    }
    let rest = find_texts(reader, &mut edits)?.into_iter().chain(boxes.rest).min();
    if let Some(rest) = rest {
        edits.cut(rest, reader.size);
    }
    Ok(edits)
}

/// A box.
struct Box {
    name: [u8; 4],
    name_at: u64,
    /// Where its content is.
    content: Range<u64>,
}

#[derive(Default)]
struct Boxes {
    count: usize,
    /// The items of the first box that lists some: a file has one.
    items: Option<Items>,
    /// Where the data of items is.
    data: Vec<Range<u64>>,
    /// Whether there are tracks, whose samples are in no item.
    has_samples: bool,
    /// What is overwritten with zeros.
    erased: Vec<Range<u64>>,
    /// Where the names of boxes are that become free space.
    freed: Vec<u64>,
    /// Where the first box is that is not read, because there are too many.
    rest: Option<u64>,
}

impl Boxes {
    /// Reads the boxes in a range, of which those with these names stay.
    fn read(
        &mut self,
        reader: &mut Reader<impl Read + Seek>,
        range: Range<u64>,
        kept: &[&[u8; 4]],
    ) -> io::Result<()> {
        let mut end = range.start;
        let mut seen = HashSet::new();
        reader.seek(end)?;
        while let Some(found) = next_box(reader, range.end)? {
            self.count += 1;
            if self.count > MAX_BOXES || (&found.name == b"meta" && found.length() > MAX_META_BYTES) {
                self.rest = self.rest.or(Some(found.name_at));
                return Ok(());
            }
            let content = found.content.clone();
            self.has_samples |= kept == FILE && [b"moov", b"moof"].contains(&&found.name);
            if FREE.contains(&&found.name) {
                self.erased.push(content.clone());
            } else if !kept.contains(&&found.name) || (kept == META && !seen.insert(found.name)) {
                self.freed.push(found.name_at);
                self.erased.push(content.clone());
            }
            match &found.name {
                b"meta" if kept == FILE && self.items.is_some() => {
                    let mut items = Items::parse(&reader.bytes(found.length())?, content.start);
                    self.erased.extend(items.unknown());
                    self.erased.extend(items.exif());
                    self.freed.push(found.name_at);
                    self.erased.push(content.clone());
                }
                // After its version and flags.
                b"meta" if kept == FILE => {
                    let (start, end) = (content.start, content.end);
                    let bytes = reader.bytes(end - start)?;
                    let mut items = Items::parse(&bytes, start);
                    self.erased.extend(items.unknown());
                    self.erased.extend(items.names());
                    self.items = Some(items);
                    self.read(reader, (start + 4).min(end)..end, META)?;
                }
                b"mdat" if kept == FILE => self.data.push(content.clone()),
                b"idat" if kept == META => self.data.push(content.clone()),
                b"grpl" if kept == META => self.read(reader, content.clone(), GROUPS)?,
                b"iprp" if kept == META => self.read(reader, content.clone(), PROPERTIES)?,
                b"ipco" if kept == PROPERTIES => self.read(reader, content.clone(), PROPERTY)?,
                b"moov" if kept == FILE => self.read(reader, content.clone(), MOVIE)?,
                b"trak" if kept == MOVIE => self.read(reader, content.clone(), TRACK)?,
                b"mdia" if kept == TRACK => self.read(reader, content.clone(), MEDIA)?,
                b"hdlr" if kept == MEDIA => self.erased.push(content.start + HANDLER_BYTES..content.end),
                _ => {}
            }
            end = content.end;
            reader.seek(end)?;
        }
        // Not a box.
        if kept == FILE && range.end - end > MAX_PADDING_BYTES {
            self.rest = self.rest.or(Some(end));
        }
        Ok(())
    }
}

impl Box {
    fn length(&self) -> u64 {
        self.content.end - self.content.start
    }
}

/// Reads the header of the next box. `None` at the end, and if no box can be there.
fn next_box(reader: &mut Reader<impl Read + Seek>, end: u64) -> io::Result<Option<Box>> {
    let start = reader.position();
    if start + 8 > end {
        return Ok(None);
    }
    let Some(short) = reader.array()?.map(u32::from_be_bytes) else { return Ok(None) };
    let Some(name) = reader.array()? else { return Ok(None) };
    let box_end = match short {
        0 => end,
        1 => match reader.array()?.map(u64::from_be_bytes) {
            Some(length) => start.saturating_add(length).min(end),
            None => return Ok(None),
        },
        short => (start + u64::from(short)).min(end),
    };
    let content = reader.position();
    Ok((content <= box_end).then_some(Box { name, name_at: start + 4, content: content..box_end }))
}

/// Returns the ranges in their order, without overlaps, within content of this size.
fn merged(mut ranges: Vec<Range<u64>>, size: u64) -> Vec<Range<u64>> {
    for range in &mut ranges {
        range.end = range.end.min(size);
    }
    ranges.retain(|range| range.start < range.end);
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Returns what of `data` is in none of the parts that are used.
fn unused(data: Vec<Range<u64>>, used: Vec<Range<u64>>, size: u64) -> Vec<Range<u64>> {
    let mut used = merged(used, size).into_iter().peekable();
    let mut unused = Vec::new();
    for Range { start: mut at, end } in merged(data, size) {
        while let Some(part) = used.peek().cloned().filter(|part| part.start < end) {
            unused.push(at..part.start);
            at = at.max(part.end);
            if part.end > end {
                break;
            }
            used.next();
        }
        unused.push(at..end);
    }
    // Those that are empty are dropped where these are merged.
    unused
}

/// Finds EXIF and XMP data by how it begins. Returns where the content begins that is not searched, because there is so
/// much of it before.
fn find_texts(reader: &mut Reader<impl Read + Seek>, edits: &mut Edits) -> io::Result<Option<u64>> {
    let (mut found, mut rest) = (Vec::new(), None);
    reader.seek(0)?;
    reader.find_all(&[TIFF[0], TIFF[1], XMP_START, XMP_END], |at, text| {
        if found.len() == MAX_TEXTS {
            rest = Some(at);
            return ControlFlow::Break(());
        }
        found.push((at, text));
        ControlFlow::Continue(())
    })?;
    let mut xmp = None;
    for (at, text) in found {
        match text {
            0 | 1 if !edits.touches(at, at + 8) => {
                reader.seek(at)?;
                let tiff = reader.bytes(EXIF_BYTES)?;
                if let Cleaned::Changed(changed) = exif::cleaned_without_end(&tiff) {
                    edits.replace_difference(at, &tiff, &changed);
                }
            }
            2 => xmp = xmp.or(Some(at)),
            3 => {
                let end = at + XMP_END.len() as u64;
                if let Some(start) = xmp.take().filter(|start| !edits.touches(*start, end)) {
                    edits.erase(start, end);
                }
            }
            _ => {}
        }
    }
    Ok(rest.map(|rest| xmp.unwrap_or(rest)))
}
