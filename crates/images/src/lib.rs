//! Smaller copies of images, and images without personal metadata. Reads untrusted content: size, memory and work are
//! checked before pixels are decoded, and a copy needs far less memory than the pixels of the image where the format
//! allows that.
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
mod metadata;
mod plan;
mod raster;
mod reader;
#[cfg(test)]
mod samples;
mod scaler;
mod segments;

use std::io::{BufRead, Seek};

use decode::decode;
use encode::encode;
pub use encode::{Encoded, Encoding};
pub use error::ImageError;
pub use metadata::{Edit, MetadataFormat, find_metadata};
pub use plan::MAX_MEMORY_BYTES;
use plan::Plan;

/// The most pixels of an image that is decoded.
pub const MAX_PIXELS: u64 = 50_000_000;

/// A format of images that can be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JPEG, baseline or progressive.
    Jpeg,
    /// PNG. Of an animation the first image.
    Png,
    /// GIF. Of an animation the first image.
    Gif,
    /// WebP. Of an animation the first image.
    WebP,
}

impl Format {
    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }

    /// Returns the format of a media type, or `None` for types that cannot be decoded.
    pub fn of(media_type: &str) -> Option<Self> {
        [Self::Jpeg, Self::Png, Self::Gif, Self::WebP]
            .into_iter()
            .find(|format| format.media_type() == media_type)
    }
}

/// A smaller copy of an image that can be made. What it takes is known before it is made.
#[derive(Debug)]
pub struct CopyJob<R> {
    content: R,
    plan: Plan,
}

impl<R: BufRead + Seek> CopyJob<R> {
    /// Reads the headers of an image whose copy is to be at most `max_width` pixels wide. Decodes no pixels.
    ///
    /// # Errors
    /// If the image has too many pixels, cannot be decoded, or decoding it needs more than
    /// [`MAX_MEMORY_BYTES`] or too much time.
    pub fn new(mut content: R, format: Format, max_width: u32) -> Result<Self, ImageError> {
        let plan = Plan::new(&mut content, format, max_width)?;
        Ok(Self { content, plan })
    }

    /// Returns an estimate of the memory in bytes that making the copy takes, at most
    /// [`MAX_MEMORY_BYTES`].
    pub fn memory_bytes(&self) -> u64 {
        self.plan.memory_bytes
    }

    /// Makes the copy. It has the orientation that the image's EXIF data states, and no metadata. The copy of an image
    /// that is narrower has the size of the image.
    ///
    /// # Errors
    /// If the image cannot be decoded.
    pub fn run(self, encoding: Encoding) -> Result<Encoded, ImageError> {
        let raster = decode(self.content, &self.plan)?;
        let (width, height) = self.plan.size;
        let is_reduced = (raster.width, raster.height) != (width, height)
            && (raster.height, raster.width) != (width, height);
        Ok(Encoded { is_reduced, ..encode(&raster, encoding)? })
    }
}
