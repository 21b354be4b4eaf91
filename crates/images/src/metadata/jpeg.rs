//! JPEG: segments of up to 64 KiB before, between and after the scans. Of the segments that no decoder needs, those
//! stay that decide how the image looks.

use std::io::{self, Read, Seek};

use super::edits::{Edits, remove_trailing};
use super::exif_replacement;
use crate::reader::Reader;
use crate::segments::{APP1, EOI, Segment, exif_data, next_segment};

const JFIF: &[u8] = b"JFIF\0";
/// Bytes of a `JFIF` segment before its thumbnail, whose sides are the last two.
const JFIF_BYTES: usize = 14;
const PROFILE: &[u8] = b"ICC_PROFILE\0";
const ADOBE: &[u8] = b"Adobe";
/// Bytes of an `Adobe` segment: version, flags and the transform of the colours.
const ADOBE_BYTES: usize = 12;

const APP0: u8 = 0xe0;
const APP2: u8 = 0xe2;
const APP14: u8 = 0xee;
/// Application data, extensions of the format, and comments. Decoders need all segments with lower markers.
const REMOVABLE: std::ops::RangeInclusive<u8> = APP0..=0xfe;

pub(super) fn find(reader: &mut Reader<impl Read + Seek>) -> io::Result<Edits> {
    let mut edits = Edits::default();
    while let Some(segment) = next_segment(reader)? {
        let (start, end) = (segment.start, segment.end);
        if edits.is_full() {
            edits.remove(start, reader.size);
            break;
        }
        if segment.marker == EOI {
            remove_trailing(reader, &mut edits);
            break;
        }
        if REMOVABLE.contains(&segment.marker)
            && let Some(replacement) = replacement(reader, &segment)?
        {
            edits.replace(start, end, replacement);
        }
        reader.seek(end)?;
    }
    Ok(edits)
}

/// Returns what replaces a segment: `None` if it stays, and nothing if it is removed.
fn replacement(reader: &mut Reader<impl Read + Seek>, segment: &Segment) -> io::Result<Option<Vec<u8>>> {
    let removed = Some(Vec::new());
    if !matches!(segment.marker, APP0 | APP1 | APP2 | APP14) {
        return Ok(removed);
    }
    let data = reader.bytes(segment.payload_bytes())?;
    Ok(match segment.marker {
        APP0 if data.starts_with(JFIF) && data.len() >= JFIF_BYTES => (data.len() > JFIF_BYTES).then(|| {
            let header = [&data[..JFIF_BYTES - 2], &[0, 0]].concat();
            encode(APP0, &header)
        }),
        APP1 => match exif_data(&data) {
            Some(tiff) => exif_replacement(tiff).map(|changed| {
                let header = &data[..data.len() - tiff.len()];
                if changed.is_empty() { changed } else { encode(APP1, &[header, &changed].concat()) }
            }),
            None => removed,
        },
        APP2 if data.starts_with(PROFILE) => None,
        APP14 if data.starts_with(ADOBE) && data.len() >= ADOBE_BYTES => {
            (data.len() > ADOBE_BYTES).then(|| encode(APP14, &data[..ADOBE_BYTES]))
        }
        _ => removed,
    })
}

/// Returns a segment with this data, which is no longer than that of the segment that it replaces.
fn encode(marker: u8, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(2 + data.len()).unwrap_or(u16::MAX);
    [&[0xff, marker][..], &length.to_be_bytes(), data].concat()
}
