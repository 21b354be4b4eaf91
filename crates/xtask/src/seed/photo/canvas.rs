//! A picture with up to 256 colours, and its PNG file.

use std::io::Write;

use anyhow::Result;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// Width in pixels.
pub const WIDTH: i32 = 320;
/// Height in pixels.
pub const HEIGHT: i32 = 240;

/// Red, green and blue.
pub type Colour = [u8; 3];

/// A picture. Shapes may reach beyond its edges.
pub struct Canvas {
    palette: Vec<Colour>,
    /// An index of `palette` for each pixel, row by row.
    pixels: Vec<u8>,
}

impl Canvas {
    /// A picture of one colour.
    pub fn new(background: Colour) -> Self {
        Self { palette: vec![background], pixels: vec![0; (WIDTH * HEIGHT).unsigned_abs() as usize] }
    }

    /// Fills the ellipse with this centre and these radii.
    pub fn ellipse(&mut self, (x, y): (i32, i32), (rx, ry): (i32, i32), colour: Colour) {
        for dy in -ry..=ry {
            let share = f64::from(dy) / f64::from(ry);
            let half = rounded(f64::from(rx) * (1.0 - share * share).sqrt());
            self.rectangle((x - half, y + dy), (2 * half + 1, 1), colour);
        }
    }

    /// Fills the rectangle with this upper left corner, width and height.
    pub fn rectangle(&mut self, (x, y): (i32, i32), (width, height): (i32, i32), colour: Colour) {
        let index = self.palette.iter().position(|known| *known == colour).unwrap_or_else(|| {
            self.palette.push(colour);
            self.palette.len() - 1
        });
        let index = u8::try_from(index).unwrap_or(u8::MAX);
        let (left, right) = (x.clamp(0, WIDTH), (x + width).clamp(0, WIDTH));
        for row in y.clamp(0, HEIGHT)..(y + height).clamp(0, HEIGHT) {
            let offset = |column: i32| (row * WIDTH + column).unsigned_abs() as usize;
            if left < right {
                self.pixels[offset(left)..offset(right)].fill(index);
            }
        }
    }

    /// Fills everything below a line. `top` returns its y for each x.
    pub fn below(&mut self, top: impl Fn(i32) -> i32, colour: Colour) {
        for x in 0..WIDTH {
            self.rectangle((x, top(x)), (1, HEIGHT), colour);
        }
    }

    /// Encodes the picture as a PNG file of some kB.
    pub fn png(&self) -> Result<Vec<u8>> {
        let mut header = [WIDTH.to_be_bytes(), HEIGHT.to_be_bytes()].concat();
        header.extend([8, 3, 0, 0, 0]); // 8 bits, a palette, no interlacing
        let mut data = ZlibEncoder::new(Vec::new(), Compression::fast());
        for row in self.pixels.chunks(WIDTH.unsigned_abs() as usize) {
            data.write_all(&[0])?; // no filter
            data.write_all(row)?;
        }
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        let chunks: [(&[u8; 4], Vec<u8>); 4] = [
            (b"IHDR", header),
            (b"PLTE", self.palette.as_flattened().to_vec()),
            (b"IDAT", data.finish()?),
            (b"IEND", Vec::new()),
        ];
        for (name, content) in chunks {
            let mut crc = Crc::new();
            crc.update(name);
            crc.update(&content);
            png.extend(u32::try_from(content.len())?.to_be_bytes());
            png.extend(name);
            png.extend(content);
            png.extend(crc.sum().to_be_bytes());
        }
        Ok(png)
    }
}

/// Rounds a coordinate.
pub fn rounded(value: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "coordinates of a small picture")]
    let whole = value.round() as i32;
    whole
}
