//! Decoding to the size of the copy.

mod gif;
mod jpeg;
mod png;
#[cfg(test)]
mod tests;
mod webp;

use std::io::{BufRead, Seek};

use crate::exif::{self, Orientation};
use crate::fit::{check_size, fit};
use crate::raster::Raster;
use crate::{Format, ImageError};

/// Returns the pixels of a copy that is at most `width` pixels wide, in the orientation in which it is shown.
///
/// # Errors
/// If the image has too many pixels, or cannot be decoded.
pub(crate) fn decode(content: impl BufRead + Seek, format: Format, width: u32) -> Result<Raster, ImageError> {
    let (raster, orientation) = match format {
        Format::Jpeg => jpeg::decode(content, width)?,
        Format::Png => png::decode(content, width)?,
        Format::Gif => (gif::decode(content, width)?, Orientation::default()),
        Format::WebP => webp::decode(content, width)?,
    };
    Ok(raster.turned(orientation).without_unused_alpha())
}

/// The sizes of an image and of its copy, and how the copy is turned.
#[derive(Clone, Copy)]
struct Goal {
    image: (u32, u32),
    copy: (u32, u32),
    orientation: Orientation,
}

impl Goal {
    /// Checks the size of the image. `tiff` is its EXIF data.
    fn new(image: (u32, u32), max_width: u32, tiff: Option<&[u8]>) -> Result<Self, ImageError> {
        check_size(image.0, image.1)?;
        let orientation = tiff.map(exif::orientation).unwrap_or_default();
        Ok(Self { image, copy: fit(image.0, image.1, max_width, orientation), orientation })
    }
}
