//! WebP: RIFF chunks. The first one, `VP8X`, has flags for the metadata.

use std::io::{self, Read, Seek};

use super::Edit;
use super::reader::Reader;
use super::riff::HEADER_BYTES;
use crate::exif::{self, Cleaned};

/// Larger EXIF data is removed. JPEG allows 64 KiB.
const MAX_EXIF_BYTES: u64 = 1 << 20;
const EXIF_FLAG: u8 = 0x08;
const XMP_FLAG: u8 = 0x04;
/// What some writers put before the TIFF header.
const EXIF: &[u8] = b"Exif\0\0";

pub(super) fn find(reader: &mut Reader<impl Read + Seek>) -> io::Result<Vec<Edit>> {
    let (mut edits, mut flags, mut cleared) = (Vec::new(), None, 0);
    let Some(header) = reader.array::<HEADER_BYTES>()? else { return Ok(edits) };
    let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
    let body_end = (8 + u64::from(length)).min(reader.size);
    while reader.position() < body_end {
        let start = reader.position();
        let Some(name) = reader.array::<4>()? else { break };
        let Some(length) = reader.array()?.map(u32::from_le_bytes).map(u64::from) else { break };
        let data = reader.position();
        let end = (data + length + length % 2).min(reader.size);
        match &name {
            b"VP8X" => flags = reader.byte()?.map(|flags| (data, flags)),
            b"XMP " => {
                edits.push(Edit::remove(start, end));
                cleared |= XMP_FLAG;
            }
            b"EXIF" if length <= MAX_EXIF_BYTES => {
                let content = reader.bytes(length)?;
                edits.extend(exif_edit(&content, start, end));
            }
            b"EXIF" => {
                edits.push(Edit::remove(start, end));
                cleared |= EXIF_FLAG;
            }
            _ => {}
        }
        reader.seek(end)?;
    }
    reader.seek(body_end)?;
    let removed =
        |edit: &Edit| (edit.end - edit.start).cast_signed() - (edit.replacement.len() as u64).cast_signed();
    let removed: i64 = edits.iter().map(removed).sum();
    edits.extend(reader.trailing()?);
    if removed != 0 {
        let length = u32::try_from(i64::from(length) - removed).unwrap_or_default();
        edits.push(Edit { start: 4, end: 8, replacement: length.to_le_bytes().to_vec() });
    }
    if let Some((at, flags)) = flags.filter(|(_, flags)| flags & cleared != 0) {
        edits.push(Edit { start: at, end: at + 1, replacement: vec![flags & !cleared] });
    }
    Ok(edits)
}

/// Returns the change of an EXIF chunk.
fn exif_edit(content: &[u8], start: u64, end: u64) -> Option<Edit> {
    let tiff = content.strip_prefix(EXIF).unwrap_or(content);
    let tiff = match exif::cleaned(tiff) {
        Cleaned::Unchanged => return None,
        Cleaned::Changed(changed) => changed,
        Cleaned::Unreadable => exif::minimal(exif::orientation(tiff)),
    };
    let mut replacement = b"EXIF".to_vec();
    replacement.extend(u32::try_from(tiff.len()).ok()?.to_le_bytes());
    replacement.extend(&tiff);
    replacement.resize(replacement.len() + tiff.len() % 2, 0);
    Some(Edit { start, end, replacement })
}
