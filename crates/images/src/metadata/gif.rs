//! GIF: comments, texts and metadata are extensions.

use std::io::{self, Read, Seek};

use super::edits::{Edits, remove_trailing};
use crate::reader::Reader;

const SIGNATURE_BYTES: u64 = 6;
/// The extensions of applications that say how often an animation repeats.
const REPEATS: [&[u8]; 2] = [b"\x0bNETSCAPE2.0", b"\x0bANIMEXTS1.0"];
/// The extension with a colour profile.
const PROFILE: &[u8] = b"\x0bICCRGBG1012";
/// Bytes of the name of an application, after their number.
const NAME_BYTES: u64 = 12;
/// The kinds of extensions: of an application, and how an image is shown.
const APPLICATION: u8 = 0xff;
const CONTROL: u8 = 0xf9;

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
                let name = if kind == Some(APPLICATION) { reader.bytes(NAME_BYTES)? } else { Vec::new() };
                // The length of the only block that stays.
                let only = match kind {
                    Some(CONTROL) => Some(4),
                    _ if REPEATS.contains(&&*name) => Some(3),
                    _ => None,
                };
                let only_end = match only {
                    Some(length) if reader.byte()? == Some(length) => {
                        Some(reader.position() + u64::from(length))
                    }
                    _ => None,
                };
                reader.seek(blocks)?;
                skip_blocks(reader)?;
                let end = reader.position();
                match only_end {
                    // The empty block ends the extension.
                    Some(only_end) if only_end + 1 < end => edits.replace(only_end, end, vec![0]),
                    Some(_) => {}
                    None if name == PROFILE => {}
                    None => edits.remove(start, end),
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
                remove_trailing(reader, &mut edits);
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
