//! Data after the end of an image.

use std::io::{self, Read, Seek};
use std::ops::ControlFlow;

use super::edits::Edits;
use crate::reader::Reader;

/// Texts that metadata begins with, in data after the end of an image. Cameras append further images, with their own
/// EXIF data, and videos.
const SIGNATURES: [&[u8]; 5] =
    [b"Exif\0\0", b"http://ns.adobe.com/", b"Photoshop 3.0\0", b"<x:xmpmeta", b"ftyp"];

/// Removes everything from the next byte on, if it may have metadata. Returns true if it does.
pub(super) fn remove_trailing(reader: &mut Reader<impl Read + Seek>, edits: &mut Edits) -> io::Result<bool> {
    let (start, mut has_metadata) = (reader.position(), false);
    reader.find_all(&SIGNATURES, |_, _| {
        has_metadata = true;
        ControlFlow::Break(())
    })?;
    if has_metadata {
        edits.remove(start, reader.size);
    }
    Ok(has_metadata)
}
