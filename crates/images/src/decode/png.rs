//! PNG. Rows are reduced as they are decoded; only an interlaced image is in memory as a whole.

use std::io::{BufRead, Seek};

use png::{ColorType, Decoder, Limits, Transformations};

use crate::exif::Orientation;
use crate::fit::Goal;
use crate::plan::MAX_PNG_CHUNK_BYTES;
use crate::raster::Raster;
use crate::scaler::Scaler;
use crate::{ImageError, MAX_PIXELS};

pub(super) fn decode(content: impl BufRead + Seek, width: u32) -> Result<(Raster, Orientation), ImageError> {
    let mut decoder = Decoder::new_with_limits(content, Limits { bytes: MAX_PNG_CHUNK_BYTES });
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    // 8 bits per channel, without a palette.
    decoder.set_transformations(Transformations::EXPAND | Transformations::STRIP_16);
    let header = decoder.read_header_info()?;
    Goal::new((header.width, header.height), width, None)?;
    let mut reader = decoder.read_info()?;
    let info = reader.info();
    let goal = Goal::new((info.width, info.height), width, info.exif_metadata.as_deref())?;
    let is_interlaced = info.interlaced;
    let (color, _) = reader.output_color_type();
    let channels = if matches!(color, ColorType::Rgba | ColorType::GrayscaleAlpha) { 4 } else { 3 };
    let mut rows = Rows { color, scaler: Scaler::new(goal.image, goal.copy, channels), expanded: Vec::new() };
    if is_interlaced {
        let size = reader.output_buffer_size().filter(|size| *size <= MAX_PIXELS as usize * 4);
        let mut pixels = vec![0; size.ok_or_else(|| ImageError::undecodable("too many bytes"))?];
        let frame = reader.next_frame(&mut pixels)?;
        pixels.chunks_exact(frame.line_size).for_each(|row| rows.push(row));
    } else {
        for _ in 0..goal.image.1 {
            let row = reader.next_row()?.ok_or_else(|| ImageError::undecodable("rows are missing"))?;
            rows.push(row.data());
        }
    }
    Ok((rows.scaler.finish(), goal.orientation))
}

/// Converts rows to RGB or RGBA.
struct Rows {
    color: ColorType,
    scaler: Scaler,
    expanded: Vec<u8>,
}

impl Rows {
    fn push(&mut self, row: &[u8]) {
        self.expanded.clear();
        match self.color {
            ColorType::Grayscale => self.expanded.extend(row.iter().flat_map(|gray| [*gray; 3])),
            ColorType::GrayscaleAlpha => {
                let pixels = row.as_chunks::<2>().0.iter();
                self.expanded.extend(pixels.flat_map(|[gray, alpha]| [*gray, *gray, *gray, *alpha]));
            }
            ColorType::Rgb | ColorType::Rgba | ColorType::Indexed => return self.scaler.push(row),
        }
        self.scaler.push(&self.expanded);
    }
}
