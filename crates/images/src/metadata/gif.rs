//! GIF: XMP data is an application extension.

use std::io::{self, Read, Seek};

use super::edits::Edits;
use super::trailing::remove_trailing;
use crate::reader::Reader;

const SIGNATURE_BYTES: u64 = 6;
const XMP: &[u8] = b"\x0bXMP DataXMP";

pub(super) fn find(reader: &mut Reader<impl Read + Seek>) -> io::Result<Edits> {
    let mut edits = Edits::default();
    reader.seek(SIGNATURE_BYTES)?;
    let Some(screen) = reader.array::<7>()? else { return Ok(edits) };
    skip_palette(reader, screen[4])?;
    loop {
        let start = reader.position();
        if edits.is_full() {
            edits.remove(start, reader.size);
            break;
        }
        match reader.byte()? {
            // An extension: its kind, then blocks.
            Some(0x21) => {
                let kind = reader.byte()?;
                let blocks = reader.position();
                let is_xmp = kind == Some(0xff) && reader.bytes(XMP.len() as u64)? == XMP;
                reader.seek(blocks)?;
                skip_blocks(reader)?;
                if is_xmp {
                    edits.remove(start, reader.position());
                }
            }
            // An image: position and size, a palette, the size of codes, then blocks.
            Some(0x2c) => {
                let Some(descriptor) = reader.array::<9>()? else { break };
                skip_palette(reader, descriptor[8])?;
                reader.byte()?;
                skip_blocks(reader)?;
            }
            Some(0x3b) => {
                remove_trailing(reader, &mut edits)?;
                break;
            }
            _ => break,
        }
    }
    Ok(edits)
}

/// Skips the palette that flags announce.
fn skip_palette(reader: &mut Reader<impl Read + Seek>, flags: u8) -> io::Result<()> {
    let bytes = if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    reader.seek(reader.position() + bytes)
}

/// Skips blocks of a length and data, up to the empty one.
fn skip_blocks(reader: &mut Reader<impl Read + Seek>) -> io::Result<()> {
    while let Some(length) = reader.byte()?.filter(|length| *length > 0) {
        reader.seek(reader.position() + u64::from(length))?;
    }
    Ok(())
}
