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
mod format;
mod job;
mod metadata;
mod plan;
mod raster;
mod reader;
#[cfg(test)]
mod samples;
mod scaler;
mod segments;

pub use encode::{Encoded, Encoding};
pub use error::ImageError;
pub use format::Format;
pub use job::CopyJob;
pub use metadata::{Edit, MetadataFormat, find_metadata};
pub use plan::MAX_MEMORY_BYTES;

/// The most pixels of an image that is decoded.
pub const MAX_PIXELS: u64 = 50_000_000;
