//! PNG: chunks of a length, a type, data and a checksum.

use std::io::{self, Read, Seek};

use super::edits::{Edits, remove_trailing};
use super::exif_replacement;
use crate::reader::Reader;

const SIGNATURE_BYTES: u64 = 8;
/// Larger EXIF data is removed. JPEG allows 64 KiB.
const MAX_EXIF_BYTES: u64 = 1 << 20;
/// Chunks that are not critical and stay: colours, transparency, density, time, and animations.
const KEPT: [&[u8; 4]; 15] = [
    b"tRNS", b"cHRM", b"gAMA", b"iCCP", b"sBIT", b"sRGB", b"cICP", b"mDCV", b"cLLI", b"bKGD", b"pHYs",
    b"tIME", b"acTL", b"fcTL", b"fdAT",
];
/// The keywords of texts that stay.
const KEPT_TEXTS: [&[u8]; 6] =
    [b"Title", b"Author", b"Description", b"Copyright", b"Software", b"Creation Time"];
/// A keyword has up to 79 bytes, and a zero after it.
const KEYWORD_BYTES: u64 = 80;

pub(super) fn find(reader: &mut Reader<impl Read + Seek>) -> io::Result<Edits> {
    let mut edits = Edits::default();
    reader.seek(SIGNATURE_BYTES)?;
    loop {
        let start = reader.position();
        if edits.is_full() {
            edits.remove(start, reader.size);
            break;
        }
        let Some(length) = reader.array()?.map(u32::from_be_bytes) else { break };
        let Some(kind) = reader.array::<4>()? else { break };
        let data = reader.position();
        let end = (data + u64::from(length) + 4).min(reader.size);
        match &kind {
            b"IEND" => {
                reader.seek(end)?;
                remove_trailing(reader, &mut edits);
                break;
            }
            b"eXIf" if u64::from(length) <= MAX_EXIF_BYTES => {
                if let Some(tiff) = exif_replacement(&reader.bytes(length.into())?) {
                    let replacement = if tiff.is_empty() { tiff } else { chunk(*b"eXIf", &tiff) };
                    edits.replace(start, end, replacement);
                }
            }
            b"tEXt" | b"zTXt" | b"iTXt" => {
                let text = reader.bytes(KEYWORD_BYTES.min(length.into()))?;
                let keyword = text.split(|byte| *byte == 0).next().unwrap_or_default();
                if !KEPT_TEXTS.contains(&keyword) {
                    edits.remove(start, end);
                }
            }
            // Critical chunks have a capital letter first.
            [b'A'..=b'Z', ..] => {}
            kind if KEPT.contains(&kind) => {}
            _ => edits.remove(start, end),
        }
        reader.seek(end)?;
    }
    Ok(edits)
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
