//! WebP: RIFF chunks. The first one, `VP8X`, has flags for the metadata. The frames of an animation are chunks that
//! consist of a header and chunks.

use std::io::{self, Read, Seek};

use super::edits::{Edits, remove_trailing};
use super::exif_replacement;
use super::riff::{FRAME_HEADER_BYTES, HEADER_BYTES};
use crate::reader::Reader;

/// Larger EXIF data is removed. JPEG allows 64 KiB.
const MAX_EXIF_BYTES: u64 = 1 << 20;
/// Bytes of a chunk before its data: name and length.
const CHUNK_HEADER_BYTES: u64 = 8;
const EXIF_FLAG: u8 = 0x08;
const XMP_FLAG: u8 = 0x04;
/// What some writers put before the TIFF header.
const EXIF: &[u8] = b"Exif\0\0";

/// The chunks of an image.
#[derive(Default)]
struct Chunks {
    edits: Edits,
    /// The flags of `VP8X`, and where they are.
    flags: Option<(u64, u8)>,
    /// The flags of metadata that is removed.
    cleared: u8,
}

pub(super) fn find(reader: &mut Reader<impl Read + Seek>) -> io::Result<Edits> {
    let Some(header) = reader.array::<HEADER_BYTES>()? else { return Ok(Edits::default()) };
    let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
    let body_end = (8 + u64::from(length)).min(reader.size);
    let mut chunks = Chunks { cleared: XMP_FLAG, ..Chunks::default() };
    let removed = chunks.read(reader, body_end, false)?;
    let Chunks { mut edits, flags, cleared } = chunks;
    reader.seek(body_end)?;
    remove_trailing(reader, &mut edits);
    if removed != 0 {
        edits.replace(4, 8, shortened(length, removed));
    }
    if let Some((at, flags)) = flags.filter(|(_, flags)| flags & cleared != 0) {
        edits.replace(at, at + 1, vec![flags & !cleared]);
    }
    Ok(edits)
}

impl Chunks {
    /// Reads the chunks up to `end`: those of the image, or those of a frame. Returns by how many bytes the changes
    /// shorten them.
    fn read(&mut self, reader: &mut Reader<impl Read + Seek>, end: u64, is_frame: bool) -> io::Result<i64> {
        let before = self.edits.removed_bytes();
        while reader.position() + CHUNK_HEADER_BYTES <= end {
            let start = reader.position();
            if self.edits.is_full() {
                self.edits.remove(start, end);
                break;
            }
            let Some(name) = reader.array::<4>()? else { break };
            let Some(length) = reader.array()?.map(u32::from_le_bytes) else { break };
            let data = reader.position();
            let chunk_end = (data + u64::from(length) + u64::from(length % 2)).min(end);
            match &name {
                b"VP8 " | b"VP8L" | b"ALPH" => {}
                b"VP8X" if !is_frame => {
                    self.flags = reader.byte()?.map(|flags| (data, flags));
                    self.shorten(data, chunk_end, 10);
                }
                b"ANIM" if !is_frame => self.shorten(data, chunk_end, 6),
                b"ICCP" if !is_frame => {}
                b"ANMF" if !is_frame => {
                    reader.seek(data + FRAME_HEADER_BYTES as u64)?;
                    let removed = self.read(reader, chunk_end.min(data + u64::from(length)), true)?;
                    if removed != 0 {
                        self.edits.replace(data - 4, data, shortened(length, removed));
                    }
                }
                b"EXIF" if !is_frame && u64::from(length) <= MAX_EXIF_BYTES => {
                    let content = reader.bytes(length.into())?;
                    if let Some(tiff) = exif_replacement(content.strip_prefix(EXIF).unwrap_or(&content)) {
                        self.cleared |= if tiff.is_empty() { EXIF_FLAG } else { 0 };
                        self.edits.replace(start, chunk_end, exif_chunk(&tiff));
                    }
                }
                _ => {
                    self.cleared |= if &name == b"EXIF" { EXIF_FLAG } else { 0 };
                    self.edits.remove(start, chunk_end);
                }
            }
            reader.seek(chunk_end)?;
        }
        Ok(self.edits.removed_bytes() - before)
    }

    /// Removes what follows the fields of a chunk, which have this many bytes.
    fn shorten(&mut self, data: u64, chunk_end: u64, fields: u32) {
        let end = data + u64::from(fields);
        if end < chunk_end {
            self.edits.replace(data - 4, data, fields.to_le_bytes().to_vec());
            self.edits.remove(end, chunk_end);
        }
    }
}

/// Returns the length of something that is shortened.
fn shortened(length: u32, removed: i64) -> Vec<u8> {
    u32::try_from(i64::from(length) - removed).unwrap_or_default().to_le_bytes().to_vec()
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
