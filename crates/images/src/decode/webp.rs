//! WebP. The decoder itself reduces an image, so that only a lossless one is in memory as a whole.

use std::io::{BufRead, Read, Seek};

use webpx::{Decoder, DecoderConfig, Limits};

use crate::ImageError;
use crate::exif::Orientation;
use crate::fit::{Goal, check_size};
use crate::metadata::riff;
use crate::plan::MAX_WEBP_BYTES;
use crate::raster::Raster;

/// Decodes an image whose header states this size.
pub(super) fn decode(
    content: impl BufRead + Seek,
    size: (u32, u32),
    max_width: u32,
) -> Result<(Raster, Orientation), ImageError> {
    let mut bytes = Vec::new();
    content.take(MAX_WEBP_BYTES).read_to_end(&mut bytes)?;
    let decoder = Decoder::new(&bytes).map_err(ImageError::undecodable)?;
    let info = decoder.info();
    if (info.width, info.height) != size {
        return Err(ImageError::undecodable("two sizes are stated"));
    }
    let goal = Goal::new(size, max_width, riff::exif(&bytes))?;
    if !info.has_animation {
        return Ok((scaled(&bytes, goal.copy)?, goal.orientation));
    }
    let frame = riff::first_frame(&bytes).ok_or_else(|| ImageError::undecodable("no image"))?;
    // The image of the frame states its own size.
    let image = Decoder::new(&frame.image).map_err(ImageError::undecodable)?;
    let size = (image.info().width, image.info().height);
    check_size(size)?;
    if size.0 > goal.image.0 || size.1 > goal.image.1 {
        return Err(ImageError::undecodable("the image is larger than its canvas"));
    }
    let reduce =
        |side: u32, copy: u32, image: u32| (u64::from(side) * u64::from(copy) / u64::from(image)) as u32;
    let (copy, canvas) = (goal.copy, goal.image);
    let reduced = (reduce(size.0, copy.0, canvas.0).max(1), reduce(size.1, copy.1, canvas.1).max(1));
    let image = with_alpha(scaled(&frame.image, reduced)?);
    let mut raster = Raster::new(copy.0, copy.1, 4);
    raster.paste(&image, reduce(frame.left, copy.0, canvas.0), reduce(frame.top, copy.1, canvas.1));
    Ok((raster, goal.orientation))
}

/// Decodes an image that is not animated to this size.
fn scaled(bytes: &[u8], (width, height): (u32, u32)) -> Result<Raster, ImageError> {
    let decoder = Decoder::new(bytes).map_err(ImageError::undecodable)?;
    let has_alpha = decoder.info().has_alpha;
    // The number of pixels is checked already.
    let decoder = decoder.config(DecoderConfig::new().limits(Limits::none())).scale(width, height);
    let result = if has_alpha { decoder.decode_rgba_raw() } else { decoder.decode_rgb_raw() };
    let (pixels, width, height) = result.map_err(ImageError::undecodable)?;
    Ok(Raster { width, height, channels: if has_alpha { 4 } else { 3 }, pixels })
}

fn with_alpha(raster: Raster) -> Raster {
    if raster.channels == 4 {
        return raster;
    }
    let rgb = raster.pixels.as_chunks::<3>().0.iter();
    let pixels = rgb.flat_map(|[r, g, b]| [*r, *g, *b, u8::MAX]).collect();
    Raster { channels: 4, pixels, ..raster }
}
