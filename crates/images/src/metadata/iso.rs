//! AVIF and HEIC. Their boxes refer to each other by position, so metadata is overwritten in place: it is found by how
//! it begins.

use std::io::{self, Read, Seek};
use std::ops::ControlFlow;

use super::edits::Edits;
use crate::exif::{self, Cleaned};
use crate::reader::Reader;

/// The headers of TIFF structures whose first directory follows at once, as all writers have it.
const TIFF: [&[u8]; 2] = [b"II*\0\x08\0\0\0", b"MM\0*\0\0\0\x08"];
const XMP_START: &[u8] = b"<x:xmpmeta";
const XMP_END: &[u8] = b"</x:xmpmeta>";
/// EXIF data is looked for up to this size. JPEG allows 64 KiB.
const EXIF_BYTES: u64 = 64 << 10;
/// The most of these texts that are looked at. Cameras write one of each. Content from the next one on is removed,
/// because looking at each takes reading [`EXIF_BYTES`].
pub(super) const MAX_TEXTS: usize = 200;

pub(super) fn find(reader: &mut Reader<impl Read + Seek>) -> io::Result<Edits> {
    let (mut found, mut rest) = (Vec::new(), None);
    reader.find_all(&[TIFF[0], TIFF[1], XMP_START, XMP_END], |at, text| {
        if found.len() == MAX_TEXTS {
            rest = Some(at);
            return ControlFlow::Break(());
        }
        found.push((at, text));
        ControlFlow::Continue(())
    })?;
    let (mut edits, mut xmp, mut edited) = (Edits::default(), None, 0);
    for (at, text) in found {
        match text {
            0 | 1 if at >= edited => {
                reader.seek(at)?;
                let tiff = reader.bytes(EXIF_BYTES)?;
                if let Cleaned::Changed(changed) = exif::cleaned(&tiff) {
                    let (start, replacement) = difference(&tiff, &changed);
                    edited = at + (start + replacement.len()) as u64;
                    edits.replace(at + start as u64, edited, replacement.to_vec());
                }
            }
            2 => xmp = xmp.or(Some(at)),
            3 => {
                let end = at + XMP_END.len() as u64;
                if let Some(start) = xmp.take().filter(|start| *start >= edited) {
                    edited = end;
                    let length = usize::try_from(end - start).unwrap_or_default();
                    edits.replace(start, end, vec![b' '; length]);
                }
            }
            _ => {}
        }
    }
    if let Some(rest) = rest {
        edits.remove(xmp.unwrap_or(rest).max(edited), reader.size);
    }
    Ok(edits)
}

/// Returns where a text of the same length differs from another, and its part from the first to the last difference.
/// What follows the EXIF data was read with it and did not change.
fn difference<'a>(before: &[u8], after: &'a [u8]) -> (usize, &'a [u8]) {
    let differs = |n: &usize| before[*n] != after[*n];
    let first = (0..before.len()).find(differs).unwrap_or(0);
    let end = (0..before.len()).rfind(differs).map_or(0, |last| last + 1);
    (first, &after[first..end])
}
