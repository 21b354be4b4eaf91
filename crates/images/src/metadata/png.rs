//! PNG: chunks of a length, a type, data and a checksum.

use std::io::{self, Read, Seek};

use super::Edit;
use super::reader::Reader;
use crate::exif::{self, Cleaned};

const SIGNATURE_BYTES: u64 = 8;
/// Larger EXIF data is removed. JPEG allows 64 KiB.
const MAX_EXIF_BYTES: u64 = 1 << 20;
/// A keyword has up to 79 bytes, and a zero after it.
const KEYWORD_BYTES: u64 = 80;
const XMP: &[u8] = b"XML:com.adobe.xmp";
/// Data that ImageMagick writes as text: `Raw profile type exif`, `iptc`, `xmp`, `APP1` or `8bim`. Colour profiles
/// stay.
const RAW_PROFILE: &[u8] = b"Raw profile type ";
const RAW_COLORS: [&[u8]; 2] = [b"Raw profile type icc", b"Raw profile type icm"];

pub(super) fn find(reader: &mut Reader<impl Read + Seek>) -> io::Result<Vec<Edit>> {
    let mut edits = Vec::new();
    reader.seek(SIGNATURE_BYTES)?;
    loop {
        let start = reader.position();
        let Some(length) = reader.array()?.map(u32::from_be_bytes) else { break };
        let Some(kind) = reader.array::<4>()? else { break };
        let data = reader.position();
        let end = (data + u64::from(length) + 4).min(reader.size);
        match &kind {
            b"IEND" => {
                reader.seek(end)?;
                edits.extend(reader.trailing()?);
                break;
            }
            b"eXIf" if u64::from(length) <= MAX_EXIF_BYTES => {
                let tiff = reader.bytes(length.into())?;
                edits.extend(exif_edit(&tiff, start, end));
            }
            b"eXIf" => edits.push(Edit::remove(start, end)),
            b"tEXt" | b"zTXt" | b"iTXt" => {
                let text = reader.bytes(KEYWORD_BYTES.min(length.into()))?;
                let keyword = text.split(|byte| *byte == 0).next().unwrap_or_default();
                if keyword == XMP || (keyword.starts_with(RAW_PROFILE) && !RAW_COLORS.contains(&keyword)) {
                    edits.push(Edit::remove(start, end));
                }
            }
            _ => {}
        }
        reader.seek(end)?;
    }
    Ok(edits)
}

/// Returns the change of an EXIF chunk.
fn exif_edit(tiff: &[u8], start: u64, end: u64) -> Option<Edit> {
    let tiff = match exif::cleaned(tiff) {
        Cleaned::Unchanged => return None,
        Cleaned::Changed(changed) => changed,
        Cleaned::Unreadable => exif::minimal(exif::orientation(tiff)),
    };
    Some(Edit { start, end, replacement: chunk(*b"eXIf", &tiff) })
}

/// Returns a chunk.
pub(super) fn chunk(kind: [u8; 4], data: &[u8]) -> Vec<u8> {
    let mut chunk = u32::try_from(data.len()).unwrap_or_default().to_be_bytes().to_vec();
    chunk.extend(kind);
    chunk.extend(data);
    let checksum = crc32fast::hash(&chunk[4..]);
    chunk.extend(checksum.to_be_bytes());
    chunk
}
