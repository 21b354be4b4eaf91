//! How an image is decoded, and what that takes. Only headers are read for it.

mod jpeg;
#[cfg(test)]
mod tests;
mod webp;

use std::io::{BufRead, Seek, SeekFrom};

pub(crate) use jpeg::{Frame, JpegPlan};

use crate::fit::{check_size, max_copy_pixels};
use crate::{Format, ImageError};

/// The most memory in bytes that making a copy may take.
pub const MAX_MEMORY_BYTES: u64 = 250 << 20;

/// Bytes that the PNG decoder may allocate besides the pixels.
pub(crate) const MAX_PNG_CHUNK_BYTES: usize = 32 << 20;
/// The decoder of WebP needs the whole content in memory, up to this size in bytes.
pub(crate) const MAX_WEBP_BYTES: u64 = 64 << 20;

/// Bytes for each pixel of the copy while it is decoded.
const RASTER_BYTES: u64 = 4;
/// Bytes for each pixel of the copy while it is turned and encoded.
const ENCODER_BYTES: u64 = 10;
/// Bytes of the buffers that each decode has.
const FIXED_BYTES: u64 = 4 << 20;

/// How an image is decoded.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The most pixels of a row of the copy.
    pub(crate) max_width: u32,
    /// Width and height of the image, before it is turned.
    pub(crate) size: (u32, u32),
    pub(crate) method: Method,
    /// An estimate of the memory that making the copy takes, in bytes. At most [`MAX_MEMORY_BYTES`].
    pub(crate) memory_bytes: u64,
}

/// How an image of a format is decoded.
#[derive(Debug)]
pub(crate) enum Method {
    Jpeg(JpegPlan),
    Png,
    Gif,
    /// The size that the header states.
    WebP((u32, u32)),
}

/// The memory that making a copy takes.
struct Memory {
    /// Bytes of the decoder, while it decodes.
    decoder: u64,
    /// Bytes of the decoded image that the copy is reduced from, if there is one.
    decoded: u64,
    copy_pixels: u64,
}

impl Memory {
    fn bytes(&self) -> u64 {
        let reducing = self.decoded + self.copy_pixels * RASTER_BYTES;
        let stages = [self.decoder, reducing, self.copy_pixels * ENCODER_BYTES];
        FIXED_BYTES + stages.into_iter().max().unwrap_or_default()
    }

    /// Returns the bytes.
    ///
    /// # Errors
    /// If they are too many.
    fn checked(&self) -> Result<u64, ImageError> {
        let bytes = self.bytes();
        if bytes > MAX_MEMORY_BYTES {
            return Err(ImageError::undecodable(format!("decoding needs {} MiB of memory", bytes >> 20)));
        }
        Ok(bytes)
    }
}

impl Plan {
    /// Reads the headers of an image whose copy is to be at most `max_width` pixels wide. Continues at the beginning of
    /// the content.
    ///
    /// # Errors
    /// If the image has too many pixels, cannot be decoded, or decoding it needs too much memory or time.
    pub(crate) fn new(
        content: &mut (impl BufRead + Seek),
        format: Format,
        max_width: u32,
    ) -> Result<Self, ImageError> {
        let (method, size, memory_bytes) = match format {
            Format::Jpeg => {
                let (plan, bytes) = JpegPlan::new(content, max_width)?;
                let size = plan.goal.image;
                (Method::Jpeg(plan), size, bytes)
            }
            Format::Png => {
                let (size, bytes) = png_memory(content, max_width)?;
                (Method::Png, size, bytes)
            }
            Format::Gif => {
                let (size, bytes) = gif_memory(content, max_width)?;
                (Method::Gif, size, bytes)
            }
            Format::WebP => {
                let (size, bytes) = webp::read(content, max_width)?;
                (Method::WebP(size), size, bytes)
            }
        };
        content.rewind()?;
        Ok(Self { max_width, size, method, memory_bytes })
    }
}

/// Returns the size of a PNG, and the memory in bytes. Only an interlaced one is in memory as a whole.
fn png_memory(content: &mut (impl BufRead + Seek), max_width: u32) -> Result<((u32, u32), u64), ImageError> {
    let length = content.seek(SeekFrom::End(0))?;
    content.rewind()?;
    let mut reader = png::Decoder::new(content);
    let header = reader.read_header_info()?;
    let size = (header.width, header.height);
    check_size(size)?;
    let pixels = u64::from(size.0) * u64::from(size.1);
    let decoded = if header.interlaced { pixels * 4 } else { 0 };
    let chunks = length.min(MAX_PNG_CHUNK_BYTES as u64);
    let copy_pixels = max_copy_pixels(size, max_width);
    // Rows are reduced while they are decoded.
    let total = decoded + chunks + copy_pixels * RASTER_BYTES;
    Ok((size, Memory { decoder: total, decoded, copy_pixels }.checked()?))
}

/// Returns the size of a GIF, and the memory in bytes: one for each pixel.
fn gif_memory(content: &mut (impl BufRead + Seek), max_width: u32) -> Result<((u32, u32), u64), ImageError> {
    let reader = gif::DecodeOptions::new().read_info(content)?;
    let size = (u32::from(reader.width()), u32::from(reader.height()));
    check_size(size)?;
    let pixels = u64::from(size.0) * u64::from(size.1);
    let memory = Memory { decoder: pixels, decoded: pixels, copy_pixels: max_copy_pixels(size, max_width) };
    Ok((size, memory.checked()?))
}
