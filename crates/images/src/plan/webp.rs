//! WebP. The decoder reduces an image while it decodes, but holds one that is coded without loss as a whole.

use std::io::{self, Read, Seek};

use super::{MAX_MEMORY_BYTES, MAX_WEBP_BYTES, Memory, RASTER_BYTES};
use crate::ImageError;
use crate::fit::{check_size, max_copy_pixels};
use crate::metadata::riff::HEADER_BYTES;
use crate::reader::Reader;

const ANIMATION_FLAG: u8 = 0x02;
/// The most chunks before the image: a colour profile, and some that are not known.
const MAX_CHUNKS: usize = 100;
/// The most groups of Huffman codes in an image.
const MAX_CODE_GROUPS: u64 = 1 << 16;
/// The fewest bits of such a group in the content.
const CODE_GROUP_BITS: u64 = 20;
/// Bytes of such a group in the decoder.
const CODE_GROUP_BYTES: u64 = 13 << 10;
/// The fewest pixels of a side of the squares that have a group each.
const CODE_GROUP_SIDE: u32 = 4;

/// How the pixels are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    /// Lossy, without alpha.
    Lossy,
    /// Lossless.
    Lossless,
    /// Lossy, with alpha that may be coded without loss.
    LossyWithAlpha,
    /// The frames of an animation, in any of these ways.
    Animated,
}

/// Returns width and height, and the memory in bytes.
pub(super) fn read(
    content: &mut (impl Read + Seek),
    max_width: u32,
) -> Result<((u32, u32), u64), ImageError> {
    let mut reader = Reader::new(content)?;
    let length = reader.size;
    if length > MAX_WEBP_BYTES {
        return Err(ImageError::undecodable("too many bytes"));
    }
    let header = read_header(&mut reader)?.ok_or_else(|| ImageError::undecodable("no image"))?;
    let (size, coding) = header;
    check_size(size)?;
    let bytes = memory(size, coding, length, max_width).checked()?;
    // A crafted image could take more than there is, and its header does not tell. So these are decoded one at a time
    // if they are large.
    Ok((size, (bytes + code_bytes(size, coding, length)).min(MAX_MEMORY_BYTES)))
}

fn memory(size: (u32, u32), coding: Coding, length: u64, max_width: u32) -> Memory {
    let pixels = u64::from(size.0) * u64::from(size.1);
    // The frame of an animation is copied, and put on the canvas.
    let (content, rasters) = if coding == Coding::Animated { (2 * length, 3) } else { (length, 1) };
    let decoded = match coding {
        Coding::Lossy => 0,
        Coding::Lossless => pixels * 4,
        // And a byte of alpha.
        Coding::LossyWithAlpha | Coding::Animated => pixels * 5,
    };
    let copy_pixels = max_copy_pixels(size, max_width);
    let total = content + decoded + copy_pixels * RASTER_BYTES * rasters;
    Memory { decoder: total, decoded: 0, copy_pixels }
}

/// Returns the most bytes that the decoder may need for Huffman codes.
fn code_bytes((width, height): (u32, u32), coding: Coding, length: u64) -> u64 {
    if coding == Coding::Lossy {
        return 0;
    }
    let squares = u64::from(width.div_ceil(CODE_GROUP_SIDE)) * u64::from(height.div_ceil(CODE_GROUP_SIDE));
    MAX_CODE_GROUPS.min(squares).min(length * 8 / CODE_GROUP_BITS) * CODE_GROUP_BYTES
}

/// Reads the size and the coding from the chunks before the pixels. Returns `None` if there is no image.
pub(super) fn read_header(reader: &mut Reader<impl Read + Seek>) -> io::Result<Option<((u32, u32), Coding)>> {
    reader.seek(HEADER_BYTES as u64)?;
    let (mut canvas, mut has_alpha) = (None, false);
    for _ in 0..MAX_CHUNKS {
        let Some(name) = reader.array::<4>()? else { break };
        let Some(length) = reader.array()?.map(u32::from_le_bytes).map(u64::from) else { break };
        let end = reader.position() + length + length % 2;
        let pair = |bits: u32, width: u32| (bits & 0x3fff, (bits >> width) & 0x3fff);
        match &name {
            b"VP8X" => {
                let Some([flags, _, _, _, w1, w2, w3, h1, h2, h3]) = reader.array()? else { break };
                // Both are stored less one.
                let number = |bytes| u32::from_le_bytes(bytes) + 1;
                let size = (number([w1, w2, w3, 0]), number([h1, h2, h3, 0]));
                if flags & ANIMATION_FLAG != 0 {
                    return Ok(Some((size, Coding::Animated)));
                }
                canvas = Some(size);
            }
            b"ALPH" => has_alpha = true,
            b"VP8 " => {
                // The tag of the frame, a start code, and 16 bits for each side, of which two are for scaling.
                let Some([_, _, _, _, _, _, size @ ..]) = reader.array::<10>()? else { break };
                let coding = if has_alpha { Coding::LossyWithAlpha } else { Coding::Lossy };
                return Ok(Some((canvas.unwrap_or(pair(u32::from_le_bytes(size), 16)), coding)));
            }
            b"VP8L" => {
                let Some([_, bits @ ..]) = reader.array::<5>()? else { break };
                let (width, height) = pair(u32::from_le_bytes(bits), 14);
                return Ok(Some((canvas.unwrap_or((width + 1, height + 1)), Coding::Lossless)));
            }
            _ => {}
        }
        reader.seek(end)?;
    }
    Ok(None)
}
