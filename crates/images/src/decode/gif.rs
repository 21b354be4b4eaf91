//! GIF: the first image, on the transparent canvas. In memory it has one byte per pixel.

use std::io::BufRead;
use std::num::NonZeroU64;

use gif::{DecodeOptions, MemoryLimit};

use crate::fit::Goal;
use crate::raster::Raster;
use crate::scaler::Scaler;
use crate::{ImageError, MAX_PIXELS};

/// A pixel without a colour.
const TRANSPARENT: [u8; 4] = [0; 4];

pub(super) fn decode(content: impl BufRead, width: u32) -> Result<Raster, ImageError> {
    let mut options = DecodeOptions::new();
    options.set_memory_limit(MemoryLimit::Bytes(NonZeroU64::new(MAX_PIXELS).unwrap_or(NonZeroU64::MIN)));
    options.check_frame_consistency(true);
    let mut decoder = options.read_info(content)?;
    let canvas = (u32::from(decoder.width()), u32::from(decoder.height()));
    let goal = Goal::new(canvas, width, None)?;
    let frame = decoder.next_frame_info()?.ok_or_else(|| ImageError::undecodable("no image"))?;
    let (left, top) = (usize::from(frame.left), u32::from(frame.top));
    let (frame_width, frame_height) = (usize::from(frame.width), u32::from(frame.height));
    let transparent = frame.transparent;
    let mut indices = vec![0; frame_width * frame_height as usize];
    decoder.read_into_buffer(&mut indices)?;
    let palette = colors(decoder.palette()?, transparent);

    let mut scaler = Scaler::new(canvas, goal.copy, 4);
    let mut row = vec![0; canvas.0 as usize * 4];
    for y in 0..canvas.1 {
        row.fill(0);
        if let Some(y) = y.checked_sub(top).filter(|y| *y < frame_height) {
            let start = y as usize * frame_width;
            let pixels = row.as_chunks_mut::<4>().0.iter_mut().skip(left);
            for (pixel, index) in pixels.zip(&indices[start..start + frame_width]) {
                *pixel = palette[usize::from(*index)];
            }
        }
        scaler.push(&row);
    }
    Ok(scaler.finish())
}

/// Returns the colours of all indices.
fn colors(palette: &[u8], transparent: Option<u8>) -> Vec<[u8; 4]> {
    let mut colors: Vec<_> =
        palette.as_chunks::<3>().0.iter().map(|[r, g, b]| [*r, *g, *b, u8::MAX]).collect();
    colors.resize(usize::from(u8::MAX) + 1, TRANSPARENT);
    if let Some(index) = transparent {
        colors[usize::from(index)] = TRANSPARENT;
    }
    colors
}
