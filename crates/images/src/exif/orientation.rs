//! How an image must be turned and mirrored.

use super::tiff::{Tiff, VALUE_OFFSET};

const ORIENTATION: u16 = 0x0112;

/// A copy of the orientation tag, which says how an image must be turned and mirrored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Orientation(u8);

impl Default for Orientation {
    fn default() -> Self {
        Self(1)
    }
}

impl Orientation {
    /// Returns the orientation of a tag's value, 1 to 8.
    pub(crate) fn new(tag: u8) -> Option<Self> {
        (1..=8).contains(&tag).then_some(Self(tag))
    }

    /// Returns true if rows become columns.
    pub(crate) fn swaps_sides(self) -> bool {
        self.0 > 4
    }

    /// Returns the pixel of an image of this width and height that is shown at a position.
    pub(crate) fn source(self, x: u32, y: u32, width: u32, height: u32) -> (u32, u32) {
        let (right, bottom) = (width - 1, height - 1);
        match self.0 {
            2 => (right - x, y),
            3 => (right - x, bottom - y),
            4 => (x, bottom - y),
            5 => (y, x),
            6 => (y, bottom - x),
            7 => (right - y, bottom - x),
            8 => (right - y, x),
            _ => (x, y),
        }
    }
}

/// Returns the orientation that EXIF data states, starting at the TIFF header.
pub(crate) fn orientation(bytes: &[u8]) -> Orientation {
    let find = || {
        let tiff = Tiff::new(bytes)?;
        let directory = tiff.directory(tiff.first()?)?;
        let entry = directory.entries().find(|entry| tiff.tag(*entry) == Some(ORIENTATION))?;
        Orientation::new(u8::try_from(tiff.u16(entry + VALUE_OFFSET)?).ok()?)
    };
    find().unwrap_or_default()
}

/// Returns EXIF data that states an orientation and nothing else.
pub(crate) fn minimal(orientation: Orientation) -> Vec<u8> {
    let mut tiff = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
    tiff.extend([orientation.0, 0, 0, 0, 0, 0, 0, 0]);
    tiff
}
