//! Finds personal metadata in images: positions in EXIF data, and all XMP and IPTC data. The caller writes a copy of
//! the content without it. Nothing is decoded, and at most one segment or chunk is in memory.

mod gif;
mod iso;
mod jpeg;
mod png;
mod reader;
pub(crate) mod riff;
#[cfg(test)]
mod tests;
mod webp;

use std::io::{self, Read, Seek};

use reader::Reader;

/// A format whose metadata is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataFormat {
    /// JPEG.
    Jpeg,
    /// PNG.
    Png,
    /// GIF.
    Gif,
    /// WebP.
    WebP,
    /// AVIF and HEIC. Metadata is overwritten in place.
    Iso,
}

impl MetadataFormat {
    /// Returns the format of a media type, or `None` for types whose metadata is not known.
    pub fn of(media_type: &str) -> Option<Self> {
        Some(match media_type {
            "image/jpeg" => Self::Jpeg,
            "image/png" => Self::Png,
            "image/gif" => Self::Gif,
            "image/webp" => Self::WebP,
            "image/avif" | "image/heic" => Self::Iso,
            _ => return None,
        })
    }
}

/// A change of content: the bytes from `start` to `end` are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The first byte that is replaced.
    pub start: u64,
    /// The byte after the last one that is replaced.
    pub end: u64,
    /// What stands there instead.
    pub replacement: Vec<u8>,
}

impl Edit {
    fn remove(start: u64, end: u64) -> Self {
        Self { start, end, replacement: Vec::new() }
    }
}

/// Returns the changes that remove positions, XMP and IPTC data, in the order of the content. Content without such data
/// has none. The orientation and the colour profile stay.
///
/// Content that is damaged is searched as far as it can be read.
///
/// # Errors
/// If the content cannot be read.
pub fn find_metadata(content: impl Read + Seek, format: MetadataFormat) -> io::Result<Vec<Edit>> {
    let mut reader = Reader::new(content)?;
    let found = match format {
        MetadataFormat::Jpeg => jpeg::find(&mut reader),
        MetadataFormat::Png => png::find(&mut reader),
        MetadataFormat::Gif => gif::find(&mut reader),
        MetadataFormat::WebP => webp::find(&mut reader),
        MetadataFormat::Iso => iso::find(&mut reader),
    };
    let mut edits = found?;
    edits.sort_by_key(|edit| edit.start);
    // Neighbours become one, so that many small segments need little memory.
    edits.dedup_by(|next, edit| {
        let joins = edit.end == next.start && edit.replacement.is_empty() && next.replacement.is_empty();
        if joins {
            edit.end = next.end;
        }
        joins
    });
    Ok(edits)
}
