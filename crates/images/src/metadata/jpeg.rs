//! JPEG: segments of up to 64 KiB before, between and after the scans.

use std::io::{self, Read, Seek};

use super::edits::Edits;
use super::exif_replacement;
use super::trailing::remove_trailing;
use crate::reader::Reader;
use crate::segments::{APP1, EOI, EXIF, next_segment};

/// The beginnings of XMP data, and of its further segments, in `APP1`.
const XMP: [&[u8]; 2] = [b"http://ns.adobe.com/xap/1.0/\0", b"http://ns.adobe.com/xmp/extension/\0"];
/// The beginnings of Photoshop resources, which contain the IPTC data, in `APP13`.
const PHOTOSHOP: [&[u8]; 2] = [b"Photoshop 3.0\0", b"Adobe_Photoshop2.5:"];
/// The index of further images after the end.
const FURTHER_IMAGES: &[u8] = b"MPF\0";
/// Bytes of the longest of these texts.
const PREFIX_BYTES: u64 = 40;

const APP2: u8 = 0xe2;
const APP13: u8 = 0xed;

pub(super) fn find(reader: &mut Reader<impl Read + Seek>) -> io::Result<Edits> {
    let (mut edits, mut index) = (Edits::default(), None);
    while let Some(segment) = next_segment(reader)? {
        let (start, end) = (segment.start, segment.end);
        if edits.is_full() {
            edits.remove(start, reader.size);
            break;
        }
        if segment.marker == EOI {
            if remove_trailing(reader, &mut edits)?
                && let Some((start, end)) = index
            {
                edits.remove(start, end);
            }
            break;
        }
        if matches!(segment.marker, APP1 | APP2 | APP13) {
            let prefix = reader.bytes(PREFIX_BYTES.min(segment.payload_bytes()))?;
            let begins = |text: &&[u8]| prefix.starts_with(text);
            if segment.marker == APP1 && begins(&EXIF) {
                reader.seek(segment.payload + EXIF.len() as u64)?;
                let tiff = reader.bytes(end.saturating_sub(reader.position()))?;
                if let Some(tiff) = exif_replacement(&tiff) {
                    edits.replace(start, end, exif_segment(&tiff));
                }
            } else if (segment.marker == APP1 && XMP.iter().any(begins))
                || (segment.marker == APP13 && PHOTOSHOP.iter().any(begins))
            {
                edits.remove(start, end);
            } else if segment.marker == APP2 && begins(&FURTHER_IMAGES) {
                index = Some((start, end));
            }
        }
        reader.seek(end)?;
    }
    Ok(edits)
}

/// Returns a segment with EXIF data, or nothing if there is no data.
fn exif_segment(tiff: &[u8]) -> Vec<u8> {
    let length = u16::try_from(2 + EXIF.len() + tiff.len());
    let Some(length) = length.ok().filter(|_| !tiff.is_empty()) else { return Vec::new() };
    [&[0xff, APP1][..], &length.to_be_bytes(), EXIF, tiff].concat()
}
