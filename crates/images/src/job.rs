//! Making a smaller copy, in two steps: what it takes is known before it is made.

use std::io::{BufRead, Seek};

use crate::decode::decode;
use crate::encode::{Encoded, Encoding, encode};
use crate::plan::Plan;
use crate::{Format, ImageError};

/// A smaller copy of an image that can be made.
#[derive(Debug)]
pub struct CopyJob<R> {
    content: R,
    plan: Plan,
}

impl<R: BufRead + Seek> CopyJob<R> {
    /// Reads the headers of an image whose copy is to be at most `max_width` pixels wide. Decodes no pixels.
    ///
    /// # Errors
    /// If the image has too many pixels, cannot be decoded, or decoding it needs more than
    /// [`MAX_MEMORY_BYTES`](crate::MAX_MEMORY_BYTES) or too much time.
    pub fn new(mut content: R, format: Format, max_width: u32) -> Result<Self, ImageError> {
        let plan = Plan::new(&mut content, format, max_width)?;
        Ok(Self { content, plan })
    }

    /// Returns an estimate of the memory in bytes that making the copy takes, at most
    /// [`MAX_MEMORY_BYTES`](crate::MAX_MEMORY_BYTES).
    pub fn memory_bytes(&self) -> u64 {
        self.plan.memory_bytes
    }

    /// Makes the copy. It has the orientation that the image's EXIF data states, and no metadata. The copy of an image
    /// that is narrower has the size of the image.
    ///
    /// # Errors
    /// If the image cannot be decoded.
    pub fn run(self, encoding: Encoding) -> Result<Encoded, ImageError> {
        let raster = decode(self.content, &self.plan)?;
        let (width, height) = self.plan.size;
        let is_reduced = (raster.width, raster.height) != (width, height)
            && (raster.height, raster.width) != (width, height);
        Ok(Encoded { is_reduced, ..encode(&raster, encoding)? })
    }
}
