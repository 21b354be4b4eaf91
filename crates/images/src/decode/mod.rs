//! Decoding to the size of the copy.

mod gif;
mod jpeg;
mod png;
#[cfg(test)]
mod tests;
mod unfinished;
mod webp;

use std::io::{BufRead, Seek};

use crate::ImageError;
use crate::exif::Orientation;
use crate::plan::{Method, Plan};
use crate::raster::Raster;

/// Returns the pixels of a copy, in the orientation in which it is shown. The plan is that of this content.
///
/// # Errors
/// If the image has too many pixels, or cannot be decoded.
pub(crate) fn decode(content: impl BufRead + Seek, plan: &Plan) -> Result<Raster, ImageError> {
    let (raster, orientation) = match &plan.method {
        Method::Jpeg(jpeg) => jpeg::decode(content, jpeg)?,
        Method::Png => png::decode(content, plan.max_width)?,
        Method::Gif => (gif::decode(content, plan.max_width)?, Orientation::default()),
        Method::WebP(size) => webp::decode(content, *size, plan.max_width)?,
    };
    Ok(raster.turned(orientation).without_unused_alpha())
}
