//! Content that was made to take long. The tests count what is read and what is kept, and measure no time.

use super::edits::MAX_EDITS;
use super::iso::MAX_TEXTS;
use super::items::MAX_NAMES;
use super::tests::{png_with, segment, stripped};
use super::{Edit, MetadataFormat, find_metadata};
use crate::exif::{self, Orientation};
use crate::samples::{CountedContent, jpeg};

const HEIC: &[u8] = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic\0\0\0\0mdat";
const XMP: &[u8] = b"<x:xmpmeta>SECRET</x:xmpmeta>";

fn has(content: &[u8], text: &[u8]) -> bool {
    content.windows(text.len()).any(|window| window == text)
}

fn removal(start: usize, end: usize) -> Edit {
    Edit { start: start as u64, end: end as u64, replacement: Vec::new(), zeros: 0 }
}

/// Each header is read as the beginning of 64 KiB of EXIF data: for all of them these would be 8 GiB.
#[test]
fn only_some_headers_in_heic_are_looked_at() {
    let content = [HEIC, &b"II*\0\x08\0\0\0".repeat(1 << 17)].concat();
    let size = content.len();
    let (content, read) = CountedContent::new(content);
    let edits = find_metadata(content, MetadataFormat::Iso).unwrap();
    let for_each = 128 << 10;
    assert!(read.get() < (MAX_TEXTS * for_each) as u64 + (1 << 20), "{}", read.get());
    assert_eq!(edits, [removal(HEIC.len() + 8 * MAX_TEXTS, size)]);
}

#[test]
fn many_names_of_items_are_erased_together() {
    let entry = b"\0\0\0\x1binfe\x02\0\0\0\0\x01\0\0av01SECRET\0";
    let list = entry.repeat(2 * MAX_NAMES);
    let iinf = [&(14 + list.len() as u32).to_be_bytes()[..], b"iinf\0\0\0\0\0\0", &list].concat();
    let meta = [&(12 + iinf.len() as u32).to_be_bytes()[..], b"meta\0\0\0\0", &iinf].concat();
    let content = [&HEIC[..24], &meta].concat();
    let edits = find_metadata(std::io::Cursor::new(&content), MetadataFormat::Iso).unwrap();
    assert_eq!(edits.len(), MAX_NAMES + 1);
    let result = stripped(&content, MetadataFormat::Iso);
    assert!(!has(&result, b"SECRET") && result.len() == content.len());
}

#[test]
fn only_some_packets_in_heic_are_overwritten() {
    let content = [HEIC, &XMP.repeat(MAX_TEXTS)].concat();
    let result = stripped(&content, MetadataFormat::Iso);
    assert!(!has(&result, b"SECRET") && !has(&result, b"xmpmeta"));
    assert_eq!(result.len(), HEIC.len() + XMP.len() * MAX_TEXTS / 2, "each packet has two texts");
    // The packet that is open where the rest begins is removed as a whole.
    let open = [HEIC, b"<x:xmpmeta>SECRET", &b"<x:xmpmeta".repeat(MAX_TEXTS)].concat();
    assert_eq!(stripped(&open, MetadataFormat::Iso), HEIC);
}

#[test]
fn the_rest_of_content_with_too_many_changes_is_removed() {
    let image = jpeg(16, 16, false);
    let xmp = segment(0xe1, &[b"http://ns.adobe.com/xap/1.0/\0", XMP].concat());
    let pair = [xmp, segment(0xdd, &[0, 0])].concat();
    let content = [&image[..2], &pair.repeat(MAX_EDITS * 2), &image[2..]].concat();
    let edits = find_metadata(std::io::Cursor::new(&content), MetadataFormat::Jpeg).unwrap();
    assert_eq!(edits.len(), MAX_EDITS);
    assert_eq!(edits.last().unwrap().end, content.len() as u64);
    assert!(!has(&stripped(&content, MetadataFormat::Jpeg), b"SECRET"));
}

/// A directory with 65,535 entries to remove, in each of several chunks.
#[test]
fn exif_data_with_many_entries_is_removed_as_a_whole() {
    let packet = [&0x02bc_u16.to_le_bytes()[..], &[1, 0, 4, 0, 0, 0, 0, 0, 0, 0]].concat();
    let data =
        |first: &[u8]| [&b"II*\0\x08\0\0\0\xff\xff"[..], first, &packet.repeat(65_534), &[0; 4]].concat();
    let chunk = (*b"eXIf", data(&packet));
    let length = chunk.1.len() + 12;
    let content = png_with(&[chunk.clone(), chunk.clone(), chunk]);
    let edits = find_metadata(std::io::Cursor::new(&content), MetadataFormat::Png).unwrap();
    assert_eq!(edits, [removal(33, 33 + 3 * length)]);
    // The orientation stays.
    let turned = [0x12, 0x01, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0];
    let content = png_with(&[(*b"eXIf", data(&turned))]);
    let minimal = exif::minimal(Orientation::new(6).unwrap());
    assert_eq!(stripped(&content, MetadataFormat::Png), png_with(&[(*b"eXIf", minimal)]));
}
