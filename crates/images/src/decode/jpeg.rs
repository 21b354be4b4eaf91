//! JPEG. The decoder itself reduces an image to 1/2, 1/4 or 1/8, so that the pixels of a large image never exist.

use std::io::{BufRead, Read, Seek};

use jpeg_decoder::{Decoder, PixelFormat};

use super::unfinished::examine;
use crate::exif::Orientation;
use crate::plan::JpegPlan;
use crate::raster::Raster;
use crate::scaler::Scaler;
use crate::{ImageError, MAX_PIXELS};

/// The value of pixels that the content does not have.
const GRAY: u8 = 128;

pub(super) fn decode(
    mut content: impl BufRead + Seek,
    JpegPlan { goal, reduced, unfinished }: &JpegPlan,
) -> Result<(Raster, Orientation), ImageError> {
    let rest = unfinished.as_ref().map(|frame| examine(&mut content, frame)).transpose()?;
    content.rewind()?;
    let (length, tail, known) =
        rest.map_or((u64::MAX, Vec::new(), None), |rest| (rest.length, rest.tail, rest.known));
    let mut decoder = Decoder::new(content.take(length).chain(&*tail));
    decoder.set_max_decoding_buffer_size(MAX_PIXELS as usize * 4);
    decoder.read_info()?;
    let no_info = || ImageError::undecodable("no frame");
    let info = decoder.info().ok_or_else(no_info)?;
    if (u32::from(info.width), u32::from(info.height)) != goal.image {
        return Err(ImageError::undecodable("two sizes are stated"));
    }
    decoder.scale(reduced.0 as u16, reduced.1 as u16)?;
    let mut pixels = decoder.decode()?;
    let info = decoder.info().ok_or_else(no_info)?;
    // Frees the coefficients.
    drop(decoder);
    let reduced = (u32::from(info.width), u32::from(info.height));
    // The decoder rounds up. One axis may still lack a pixel.
    let copy = (goal.copy.0.min(reduced.0), goal.copy.1.min(reduced.1));
    let mut scaler = Scaler::new(reduced, copy, 3);
    let mut rgb = vec![0; reduced.0 as usize * 3];
    let pixel_bytes = match info.pixel_format {
        PixelFormat::L8 => 1,
        PixelFormat::RGB24 => 3,
        PixelFormat::CMYK32 => 4,
        PixelFormat::L16 => return Err(ImageError::undecodable("16 bits per pixel")),
    };
    for (y, row) in (0..).zip(pixels.chunks_exact_mut(reduced.0 as usize * pixel_bytes)) {
        if let Some(known) = &known {
            let columns = known.columns(y * goal.image.1 / reduced.1).min(goal.image.0);
            row[(columns * reduced.0 / goal.image.0) as usize * pixel_bytes..].fill(GRAY);
        }
        if pixel_bytes == 3 {
            scaler.push(row);
            continue;
        }
        for (rgb, pixel) in rgb.as_chunks_mut::<3>().0.iter_mut().zip(row.chunks_exact(pixel_bytes)) {
            *rgb = match *pixel {
                [c, m, y, k] => [c, m, y].map(|ink| multiply(255 - ink, 255 - k)),
                _ => [pixel[0]; 3],
            };
        }
        scaler.push(&rgb);
    }
    Ok((scaler.finish(), goal.orientation))
}

/// Returns the product of two fractions of 255.
fn multiply(a: u8, b: u8) -> u8 {
    (u16::from(a) * u16::from(b) / 255) as u8
}
