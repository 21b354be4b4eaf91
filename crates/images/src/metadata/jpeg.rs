//! JPEG: segments of up to 64 KiB before, between and after the scans.

use std::io::{self, Read, Seek};

use super::Edit;
use super::reader::Reader;
use crate::exif::{self, Cleaned};

const EXIF: &[u8] = b"Exif\0\0";
/// The beginnings of XMP data, and of its further segments, in `APP1`.
const XMP: [&[u8]; 2] = [b"http://ns.adobe.com/xap/1.0/\0", b"http://ns.adobe.com/xmp/extension/\0"];
/// The beginnings of Photoshop resources, which contain the IPTC data, in `APP13`.
const PHOTOSHOP: [&[u8]; 2] = [b"Photoshop 3.0\0", b"Adobe_Photoshop2.5:"];
/// The index of further images after the end.
const FURTHER_IMAGES: &[u8] = b"MPF\0";
/// Bytes of the longest of these texts.
const PREFIX_BYTES: u64 = 40;

const SOI: u8 = 0xd8;
const EOI: u8 = 0xd9;
const APP1: u8 = 0xe1;
const APP2: u8 = 0xe2;
const APP13: u8 = 0xed;

pub(super) fn find(reader: &mut Reader<impl Read + Seek>) -> io::Result<Vec<Edit>> {
    let (mut edits, mut index) = (Vec::new(), None);
    // Decoders skip bytes that are no markers, and so does this.
    while reader.skip_to(0xff)? {
        let start = reader.position();
        let mut marker = reader.byte()?;
        while marker == Some(0xff) {
            marker = reader.byte()?;
        }
        let Some(marker) = marker else { break };
        match marker {
            // A byte of a scan, or a marker without a segment.
            0 | 1 | 0xd0..=SOI => continue,
            EOI => {
                if let Some(trailing) = reader.trailing()? {
                    edits.push(trailing);
                    edits.extend(index);
                }
                break;
            }
            _ => {}
        }
        let Some(length) = reader.array()?.map(u16::from_be_bytes).filter(|length| *length >= 2) else {
            continue;
        };
        let payload = reader.position();
        let end = (payload + u64::from(length) - 2).min(reader.size);
        if matches!(marker, APP1 | APP2 | APP13) {
            let prefix = reader.bytes(PREFIX_BYTES.min(end - payload))?;
            let begins = |text: &&[u8]| prefix.starts_with(text);
            if marker == APP1 && begins(&EXIF) {
                reader.seek(payload + EXIF.len() as u64)?;
                let tiff = reader.bytes(end.saturating_sub(reader.position()))?;
                edits.extend(exif_edit(&tiff, start, end));
            } else if (marker == APP1 && XMP.iter().any(begins))
                || (marker == APP13 && PHOTOSHOP.iter().any(begins))
            {
                edits.push(Edit::remove(start, end));
            } else if marker == APP2 && begins(&FURTHER_IMAGES) {
                index = Some(Edit::remove(start, end));
            }
        }
        // The bytes of a scan follow its segment. They have no markers except those that `continue` above.
        reader.seek(end)?;
    }
    Ok(edits)
}

/// Returns the change of an EXIF segment.
fn exif_edit(tiff: &[u8], start: u64, end: u64) -> Option<Edit> {
    let tiff = match exif::cleaned(tiff) {
        Cleaned::Unchanged => return None,
        Cleaned::Changed(changed) => changed,
        Cleaned::Unreadable => exif::minimal(exif::orientation(tiff)),
    };
    let mut replacement = vec![0xff, APP1];
    replacement.extend(u16::try_from(2 + EXIF.len() + tiff.len()).ok()?.to_be_bytes());
    replacement.extend(EXIF);
    replacement.extend(tiff);
    Some(Edit { start, end, replacement })
}
