//! WebP: RIFF chunks. The first one, `VP8X`, has flags for the metadata.

use std::io::{self, Read, Seek};

use super::edits::Edits;
use super::exif_replacement;
use super::riff::HEADER_BYTES;
use super::trailing::remove_trailing;
use crate::reader::Reader;

/// Larger EXIF data is removed. JPEG allows 64 KiB.
const MAX_EXIF_BYTES: u64 = 1 << 20;
const EXIF_FLAG: u8 = 0x08;
const XMP_FLAG: u8 = 0x04;
/// What some writers put before the TIFF header.
const EXIF: &[u8] = b"Exif\0\0";

pub(super) fn find(reader: &mut Reader<impl Read + Seek>) -> io::Result<Edits> {
    let (mut edits, mut flags, mut cleared) = (Edits::default(), None, 0);
    let Some(header) = reader.array::<HEADER_BYTES>()? else { return Ok(edits) };
    let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
    let body_end = (8 + u64::from(length)).min(reader.size);
    while reader.position() < body_end {
        let start = reader.position();
        if edits.is_full() {
            edits.remove(start, body_end);
            break;
        }
        let Some(name) = reader.array::<4>()? else { break };
        let Some(length) = reader.array()?.map(u32::from_le_bytes).map(u64::from) else { break };
        let data = reader.position();
        let end = (data + length + length % 2).min(reader.size);
        match &name {
            b"VP8X" => flags = reader.byte()?.map(|flags| (data, flags)),
            b"XMP " => {
                edits.remove(start, end);
                cleared |= XMP_FLAG;
            }
            b"EXIF" if length <= MAX_EXIF_BYTES => {
                let content = reader.bytes(length)?;
                if let Some(tiff) = exif_replacement(content.strip_prefix(EXIF).unwrap_or(&content)) {
                    cleared |= if tiff.is_empty() { EXIF_FLAG } else { 0 };
                    edits.replace(start, end, exif_chunk(&tiff));
                }
            }
            b"EXIF" => {
                edits.remove(start, end);
                cleared |= EXIF_FLAG;
            }
            _ => {}
        }
        reader.seek(end)?;
    }
    let removed = edits.removed_bytes();
    reader.seek(body_end)?;
    remove_trailing(reader, &mut edits)?;
    if removed != 0 {
        let length = u32::try_from(i64::from(length) - removed).unwrap_or_default();
        edits.replace(4, 8, length.to_le_bytes().to_vec());
    }
    if let Some((at, flags)) = flags.filter(|(_, flags)| flags & cleared != 0) {
        edits.replace(at, at + 1, vec![flags & !cleared]);
    }
    Ok(edits)
}

/// Returns a chunk with EXIF data, or nothing if there is no data.
fn exif_chunk(tiff: &[u8]) -> Vec<u8> {
    if tiff.is_empty() {
        return Vec::new();
    }
    let mut chunk = b"EXIF".to_vec();
    chunk.extend(u32::try_from(tiff.len()).unwrap_or_default().to_le_bytes());
    chunk.extend(tiff);
    chunk.resize(chunk.len() + tiff.len() % 2, 0);
    chunk
}
