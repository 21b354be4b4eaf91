//! The size of a smaller copy.

use crate::exif::{self, Orientation};
use crate::{ImageError, MAX_PIXELS};

/// The most pixels of a side of an image. JPEG and GIF can have no more, and a row of an image stays small.
const MAX_SIDE: u32 = 65_535;
/// A copy is at most this many times as high as the width that is asked for. That of a longer image is narrower
/// instead, so that it is not many times as large as other copies.
const MAX_COPY_HEIGHT: u32 = 4;

/// The sizes of an image and of its copy, and how the copy is turned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    /// Width and height of the image.
    pub(crate) image: (u32, u32),
    /// Width and height of the copy before it is turned.
    pub(crate) copy: (u32, u32),
    pub(crate) orientation: Orientation,
}

impl Goal {
    /// Checks the size of the image. `tiff` is its EXIF data.
    ///
    /// # Errors
    /// As [`check_size`].
    pub(crate) fn new(image: (u32, u32), max_width: u32, tiff: Option<&[u8]>) -> Result<Self, ImageError> {
        check_size(image)?;
        let orientation = tiff.map(exif::orientation).unwrap_or_default();
        Ok(Self { image, copy: fit(image.0, image.1, max_width, orientation), orientation })
    }
}

/// Returns the most pixels of the copy of an image, in any orientation.
pub(crate) fn max_copy_pixels((width, height): (u32, u32), max_width: u32) -> u64 {
    let pixels = |orientation| {
        let (width, height) = fit(width, height, max_width, orientation);
        u64::from(width) * u64::from(height)
    };
    let upright = pixels(Orientation::default());
    upright.max(Orientation::new(6).map_or(0, pixels))
}

/// Checks the size of an image, before its pixels are decoded.
///
/// # Errors
/// If the image has no pixels, too many, or too long a side.
pub(crate) fn check_size((width, height): (u32, u32)) -> Result<(), ImageError> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels > MAX_PIXELS {
        Err(ImageError::TooManyPixels(pixels))
    } else if pixels == 0 || width > MAX_SIDE || height > MAX_SIDE {
        Err(ImageError::undecodable(format!("{width} × {height} pixels")))
    } else {
        Ok(())
    }
}

/// Returns width and height of the copy of an image before it is turned, if the turned copy is at most `max_width`
/// wide.
fn fit(width: u32, height: u32, max_width: u32, orientation: Orientation) -> (u32, u32) {
    let turned = orientation.swaps_sides();
    let (shown_width, shown_height) = if turned { (height, width) } else { (width, height) };
    // Rounded, at least 1.
    let scaled = |side: u32, to: u32, of: u32| {
        let (side, to, of) = (u64::from(side), u64::from(to), u64::from(of));
        u32::try_from((side * to + of / 2) / of).unwrap_or(u32::MAX).max(1)
    };
    let (mut copy_width, mut copy_height) = (shown_width, shown_height);
    if copy_width > max_width {
        (copy_width, copy_height) = (max_width, scaled(shown_height, max_width, shown_width));
    }
    let max_height = max_width.saturating_mul(MAX_COPY_HEIGHT);
    if copy_height > max_height {
        (copy_width, copy_height) = (scaled(shown_width, max_height, shown_height), max_height);
    }
    if turned { (copy_height, copy_width) } else { (copy_width, copy_height) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn copies_keep_the_proportions() {
        let upright = Orientation::default();
        let turned = Orientation::new(6).unwrap();
        assert_eq!(fit(4000, 3000, 320, upright), (320, 240));
        assert_eq!(fit(4000, 3000, 320, turned), (427, 320));
        assert_eq!(fit(100, 50, 160, upright), (100, 50));
        assert_eq!(fit(50, 100, 160, turned), (50, 100));
        assert_eq!(fit(10_000, 1, 160, upright), (160, 1));
        assert_eq!(fit(1000, 4000, 1000, upright), (1000, 4000));
        assert_eq!(fit(1000, 40_000, 1280, upright), (128, 5120));
        assert_eq!(fit(100, 700, 160, upright), (91, 640), "narrow images too");
        assert_eq!(fit(40_000, 1000, 1280, turned), (5120, 128));
    }

    #[test]
    fn sizes_are_limited() {
        assert!(check_size((10_000, 5_000)).is_ok());
        assert!(matches!(check_size((10_001, 5_000)), Err(ImageError::TooManyPixels(50_005_000))));
        assert!(matches!(check_size((u32::MAX, u32::MAX)), Err(ImageError::TooManyPixels(_))));
        assert!(matches!(check_size((0, 5)), Err(ImageError::Undecodable(_))));
        assert!(matches!(check_size((65_536, 5)), Err(ImageError::Undecodable(_))));
    }

    proptest! {
        #[test]
        fn copies_are_never_larger(width in 1u32..=65_535, height in 1u32..=65_535, max in 1u32..2000, tag in 1u8..=8) {
            let (w, h) = fit(width, height, max, Orientation::new(tag).unwrap());
            prop_assert!((1..=width).contains(&w) && (1..=height).contains(&h));
            let shown = if tag > 4 { h } else { w };
            prop_assert!(shown <= max && w.max(h) <= max * 4);
            prop_assert!(u64::from(w) * u64::from(h) <= max_copy_pixels((width, height), max));
        }
    }
}
