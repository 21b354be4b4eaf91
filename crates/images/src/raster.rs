//! Decoded pixels.

use crate::exif::Orientation;

/// Decoded pixels, with 3 bytes each (RGB) or 4 (RGBA, not premultiplied).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raster {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) channels: usize,
    pub(crate) pixels: Vec<u8>,
}

impl Raster {
    /// Creates a raster of zeros, which are black, or transparent.
    pub(crate) fn new(width: u32, height: u32, channels: usize) -> Self {
        let pixels = vec![0; width as usize * height as usize * channels];
        Self { width, height, channels, pixels }
    }

    /// Turns and mirrors the pixels as the orientation says.
    pub(crate) fn turned(self, orientation: Orientation) -> Self {
        if orientation == Orientation::default() {
            return self;
        }
        let (width, height) =
            if orientation.swaps_sides() { (self.height, self.width) } else { (self.width, self.height) };
        let mut turned = Self::new(width, height, self.channels);
        let rows = turned.pixels.chunks_exact_mut(self.channels);
        for (i, pixel) in rows.enumerate() {
            let (x, y) = (i as u32 % width, i as u32 / width);
            let (x, y) = orientation.source(x, y, self.width, self.height);
            let start = (y as usize * self.width as usize + x as usize) * self.channels;
            pixel.copy_from_slice(&self.pixels[start..start + self.channels]);
        }
        turned
    }

    /// Drops the alpha channel if every pixel is opaque.
    pub(crate) fn without_unused_alpha(self) -> Self {
        if self.channels != 4 || self.pixels.chunks_exact(4).any(|pixel| pixel[3] != u8::MAX) {
            return self;
        }
        let pixels = self.pixels.as_chunks::<4>().0.iter().flat_map(|[r, g, b, _]| [*r, *g, *b]).collect();
        Self { channels: 3, pixels, ..self }
    }

    /// Copies another raster with the same channels into this one. Pixels beyond the sides are left out.
    pub(crate) fn paste(&mut self, other: &Self, left: u32, top: u32) {
        let columns = other.width.min(self.width.saturating_sub(left)) as usize * self.channels;
        for y in 0..other.height.min(self.height.saturating_sub(top)) {
            let from = y as usize * other.width as usize * self.channels;
            let to = ((top + y) as usize * self.width as usize + left as usize) * self.channels;
            self.pixels[to..to + columns].copy_from_slice(&other.pixels[from..from + columns]);
        }
    }
}
