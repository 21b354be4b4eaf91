//! AVIF and HEIC. Their boxes refer to each other by position, so metadata is overwritten in place: it is found by how
//! it begins.

use std::io::{self, Read, Seek};

use super::Edit;
use super::reader::Reader;
use crate::exif::{self, Cleaned};

/// The headers of TIFF structures whose first directory follows at once, as all writers have it.
const TIFF: [&[u8]; 2] = [b"II*\0\x08\0\0\0", b"MM\0*\0\0\0\x08"];
const XMP_START: &[u8] = b"<x:xmpmeta";
const XMP_END: &[u8] = b"</x:xmpmeta>";
/// EXIF data is looked for up to this size. JPEG allows 64 KiB.
const EXIF_BYTES: u64 = 64 << 10;

pub(super) fn find(reader: &mut Reader<impl Read + Seek>) -> io::Result<Vec<Edit>> {
    let mut found = Vec::new();
    reader.find_all(&[TIFF[0], TIFF[1], XMP_START, XMP_END], |at, text| found.push((at, text)))?;
    let (mut edits, mut xmp, mut edited) = (Vec::<Edit>::new(), None, 0);
    for (at, text) in found {
        match text {
            0 | 1 if at >= edited => {
                reader.seek(at)?;
                let tiff = reader.bytes(EXIF_BYTES)?;
                if let Cleaned::Changed(changed) = exif::cleaned(&tiff) {
                    let edit = difference(at, &tiff, &changed);
                    edited = edit.end;
                    edits.push(edit);
                }
            }
            2 => xmp = xmp.or(Some(at)),
            3 => {
                let end = at + XMP_END.len() as u64;
                if let Some(start) = xmp.take().filter(|start| *start >= edited) {
                    edited = end;
                    let length = usize::try_from(end - start).unwrap_or_default();
                    edits.push(Edit { start, end, replacement: vec![b' '; length] });
                }
            }
            _ => {}
        }
    }
    Ok(edits)
}

/// Returns the change from one text to another of the same length, at this position. What follows the EXIF data was
/// read with it and did not change.
fn difference(at: u64, before: &[u8], after: &[u8]) -> Edit {
    let differs = |n: &usize| before[*n] != after[*n];
    let first = (0..before.len()).find(differs).unwrap_or(0);
    let end = (0..before.len()).rfind(differs).map_or(0, |last| last + 1);
    Edit { start: at + first as u64, end: at + end as u64, replacement: after[first..end].to_vec() }
}
