//! Data after the end of an image: further images with their own metadata, videos, notes of the camera.

use std::io::{Read, Seek};

use super::edits::Edits;
use crate::reader::Reader;

/// Bytes after the end of an image that stay. Some writers pad their files.
pub(super) const MAX_PADDING_BYTES: u64 = 16;

/// Removes everything from the next byte on, unless it is padding.
pub(super) fn remove_trailing(reader: &Reader<impl Read + Seek>, edits: &mut Edits) {
    let start = reader.position();
    if reader.size - start > MAX_PADDING_BYTES {
        edits.remove(start, reader.size);
    }
}
