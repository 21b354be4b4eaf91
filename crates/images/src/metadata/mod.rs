//! Finds what may be personal in images, by lists of what is known to be harmless: everything else goes, such as
//! positions, comments, texts, XMP and IPTC data, and manifests of content credentials. The caller writes a copy of the
//! content without it. Nothing is decoded. At most one segment or chunk is in memory, and the EXIF data that is
//! changed. The work is proportional to the length of the content, also for content that was made to take long.

#[cfg(test)]
mod crafted_tests;
mod edits;
mod gif;
mod iso;
mod items;
mod jpeg;
mod png;
pub(crate) mod riff;
#[cfg(test)]
mod tests;
mod webp;

use std::io::{self, Read, Seek};

pub use edits::Edit;

use crate::exif::{self, Cleaned, Orientation};
use crate::reader::Reader;

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

/// Returns the changes that remove personal metadata, in the order of the content. Content without it has none. The
/// orientation, the colour profile, and what the camera states about itself and how it took the image stay.
///
/// Content that is damaged is searched as far as it can be read. Of content with thousands of separate pieces of such
/// data, which no camera writes, the rest is removed.
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
    Ok(found?.into_sorted())
}

/// Returns what EXIF data is replaced by: `None` if it stays, and nothing if it is removed. Data that cannot be read is
/// replaced by the orientation alone, if it states one.
fn exif_replacement(tiff: &[u8]) -> Option<Vec<u8>> {
    match exif::cleaned(tiff) {
        Cleaned::Unchanged => None,
        Cleaned::Changed(changed) => Some(changed),
        Cleaned::Unreadable => {
            let orientation = exif::orientation(tiff);
            let is_stated = orientation != Orientation::default();
            Some(if is_stated { exif::minimal(orientation) } else { Vec::new() })
        }
    }
}
