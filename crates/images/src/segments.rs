//! The segments of a JPEG, before, between and after its scans.

use std::io::{self, Read, Seek};

use crate::reader::Reader;

/// Start of the image.
const SOI: u8 = 0xd8;
/// End of the image.
pub(crate) const EOI: u8 = 0xd9;
/// EXIF or XMP data.
pub(crate) const APP1: u8 = 0xe1;
/// What EXIF data in `APP1` begins with. Any byte follows, as in browsers.
const EXIF: &[u8] = b"Exif\0";

/// A segment: a marker, a length, and up to 64 KiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) marker: u8,
    /// Where the marker is.
    pub(crate) start: u64,
    /// Where the data after the length is. Only the end of the image has neither.
    pub(crate) payload: u64,
    /// Where the data ends.
    pub(crate) end: u64,
}

impl Segment {
    /// Returns the number of bytes after the length.
    pub(crate) fn payload_bytes(&self) -> u64 {
        self.end.saturating_sub(self.payload)
    }
}

/// Returns the EXIF data in the data of an `APP1` segment, starting at the TIFF header.
pub(crate) fn exif_data(data: &[u8]) -> Option<&[u8]> {
    data.strip_prefix(EXIF)?.get(1..)
}

/// Returns the next segment, or `None` at the end of the content. Decoders skip bytes that are no markers, and so does
/// this. To continue after the segment, the caller seeks its end. The bytes of a scan follow its segment; they have no
/// markers except those that are skipped here.
pub(crate) fn next_segment(reader: &mut Reader<impl Read + Seek>) -> io::Result<Option<Segment>> {
    while reader.skip_to(0xff)? {
        let start = reader.position();
        let mut marker = reader.byte()?;
        while marker == Some(0xff) {
            marker = reader.byte()?;
        }
        let Some(marker) = marker else { break };
        match marker {
            // A byte of a scan, or a marker without a segment.
            0 | 1 | 0xd0..=SOI => continue,
            EOI => {
                let end = reader.position();
                return Ok(Some(Segment { marker, start, payload: end, end }));
            }
            _ => {}
        }
        let Some(length) = reader.array()?.map(u16::from_be_bytes).filter(|length| *length >= 2) else {
            continue;
        };
        let payload = reader.position();
        let end = (payload + u64::from(length) - 2).min(reader.size);
        return Ok(Some(Segment { marker, start, payload, end }));
    }
    Ok(None)
}
