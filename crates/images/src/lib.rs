//! Smaller copies of images, and images without personal metadata. Reads untrusted content: sizes are checked before
//! pixels are decoded, and a copy needs far less memory than the pixels of the image where the format allows that.
//!
//! The crate knows no HTTP and no store. `docs/decisions/0045-images.md` explains the choice of the codecs.

#![warn(unreachable_pub)]
#![allow(
    clippy::cast_possible_truncation,
    reason = "sides have at most 65,535 pixels, and averages of bytes are bytes"
)]

mod decode;
mod encode;
mod error;
mod exif;
mod fit;
mod format;
mod metadata;
mod raster;
#[cfg(test)]
mod samples;
mod scaler;

pub use encode::{Encoded, Encoding};
pub use error::ImageError;
pub use format::Format;
pub use metadata::{Edit, MetadataFormat, find_metadata};

use std::io::{BufRead, Seek};

/// The most pixels of an image that is decoded.
pub const MAX_PIXELS: u64 = 50_000_000;

/// Returns a copy of an image that is at most `width` pixels wide. It has the orientation that the image's EXIF data
/// states, and no metadata. An image that is narrower keeps its size.
///
/// # Errors
/// If the image has too many pixels, or cannot be decoded.
pub fn shrink(
    content: impl BufRead + Seek,
    format: Format,
    width: u32,
    encoding: Encoding,
) -> Result<Encoded, ImageError> {
    let raster = decode::decode(content, format, width)?;
    encode::encode(&raster, encoding)
}
