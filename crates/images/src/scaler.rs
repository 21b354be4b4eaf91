//! Reduces images by averaging the area that each pixel of the copy covers, row by row. So an image whose rows are
//! decoded one after the other never is in memory as a whole.

use crate::raster::Raster;

/// Takes the rows of an image and builds its smaller copy. No side of the copy is longer than that of the image.
pub(crate) struct Scaler {
    width: u64,
    height: u64,
    copy: Raster,
    /// The sums of a row of the copy: of each channel, weighted by area, and by alpha if there is alpha.
    sums: Vec<u64>,
    /// The averages of the row that was pushed last.
    row: Vec<u64>,
    /// The number of the next row.
    next: u64,
}

impl Scaler {
    /// Reduces an image of `from` to a copy of `to`, each width and height.
    pub(crate) fn new(from: (u32, u32), to: (u32, u32), channels: usize) -> Self {
        let copy = Raster::new(to.0, to.1, channels);
        let sums = vec![0; to.0 as usize * channels];
        Self { width: from.0.into(), height: from.1.into(), copy, row: sums.clone(), sums, next: 0 }
    }

    /// Adds the next row.
    pub(crate) fn push(&mut self, row: &[u8]) {
        match self.copy.channels {
            3 => self.add_row::<3>(row),
            _ => self.add_row::<4>(row),
        }
        // Rows and pixels of the copy are measured in fractions of those of the image: row `next` covers `start..end`,
        // and row `y` of the copy covers `y * height..(y + 1) * height`.
        let copy_height = u64::from(self.copy.height);
        let (mut start, end) = (self.next * copy_height, (self.next + 1) * copy_height);
        while start < end {
            let y = start / self.height;
            let part = end.min((y + 1) * self.height) - start;
            for (sum, value) in self.sums.iter_mut().zip(&self.row) {
                *sum += value * part;
            }
            start += part;
            if start == (y + 1) * self.height {
                self.finish_row(y as usize);
            }
        }
        self.next += 1;
    }

    /// Returns the copy. Missing rows are black or transparent.
    pub(crate) fn finish(self) -> Raster {
        self.copy
    }

    /// Sums up the pixels of a row of the image in `self.row`.
    fn add_row<const N: usize>(&mut self, row: &[u8]) {
        self.row.fill(0);
        let copy_width = u64::from(self.copy.width);
        let (sums, _) = self.row.as_chunks_mut::<N>();
        let (mut x, mut left) = (0, self.width);
        for pixel in row.as_chunks::<N>().0 {
            let mut rest = copy_width;
            while rest > 0 && x < sums.len() {
                let part = rest.min(left);
                let weight = if N == 4 { part * u64::from(pixel[3]) } else { part };
                for channel in 0..3 {
                    sums[x][channel] += weight * u64::from(pixel[channel]);
                }
                if N == 4 {
                    sums[x][3] += weight;
                }
                rest -= part;
                left -= part;
                if left == 0 {
                    (x, left) = (x + 1, self.width);
                }
            }
        }
    }

    /// Turns the sums into a row of the copy.
    fn finish_row(&mut self, y: usize) {
        let area = self.width * self.height;
        let channels = self.copy.channels;
        let length = self.sums.len();
        let row = &mut self.copy.pixels[y * length..(y + 1) * length];
        let mean = |sum: u64, weight: u64| (sum + weight / 2).checked_div(weight).unwrap_or(0) as u8;
        for (pixel, sums) in row.chunks_exact_mut(channels).zip(self.sums.chunks_exact(channels)) {
            let weight = if channels == 4 { sums[3] } else { area };
            for channel in 0..3 {
                pixel[channel] = mean(sums[channel], weight);
            }
            if channels == 4 {
                pixel[3] = mean(sums[3], area);
            }
        }
        self.sums.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scale(width: u32, height: u32, channels: usize, pixels: &[u8], to: (u32, u32)) -> Raster {
        let mut scaler = Scaler::new((width, height), to, channels);
        pixels.chunks_exact(width as usize * channels).for_each(|row| scaler.push(row));
        scaler.finish()
    }

    #[test]
    fn averages_areas() {
        let gray = |values: &[u8]| values.iter().flat_map(|v| [*v; 3]).collect::<Vec<_>>();
        assert_eq!(scale(2, 2, 3, &gray(&[0, 100, 50, 250]), (1, 1)).pixels, gray(&[100]));
        // Each pixel of the copy covers one and a half.
        assert_eq!(scale(3, 1, 3, &gray(&[0, 90, 200]), (2, 1)).pixels, gray(&[30, 163]));
        // Transparent pixels have no colour.
        let mixed = [200, 0, 0, 255, 0, 255, 0, 0];
        assert_eq!(scale(2, 1, 4, &mixed, (1, 1)).pixels, [200, 0, 0, 128]);
    }

    proptest! {
        #[test]
        fn same_size_keeps_pixels(width in 1u32..9, height in 1u32..9, seed: u8) {
            let pixels: Vec<u8> = (0..width * height * 3).map(|n| (n as u8).wrapping_mul(31).wrapping_add(seed)).collect();
            prop_assert_eq!(&scale(width, height, 3, &pixels, (width, height)).pixels, &pixels);
        }

        #[test]
        fn values_stay_in_their_range(width in 1u32..40, height in 1u32..40, w in 1u32..40, h in 1u32..40, low in 0u8..100) {
            let to = (w.min(width), h.min(height));
            for channels in [3, 4] {
                let pixels: Vec<u8> = (0..width * height * channels).map(|n| low + (n % 7) as u8).collect();
                let copy = scale(width, height, channels as usize, &pixels, to);
                prop_assert_eq!(copy.pixels.len(), (to.0 * to.1 * channels) as usize);
                prop_assert!(copy.pixels.iter().all(|value| (low..low + 7).contains(value)));
            }
        }
    }
}
