//! The names of smaller copies.

use images::Encoding;

use super::width::Width;
use crate::files::blob_store::ContentName;

/// The media types of copies, and how their names end.
const TYPES: [(&str, &str); 3] = [("image/webp", "webp"), ("image/jpeg", "jpeg"), ("image/png", "png")];

/// A smaller copy of an image that a client asks for.
#[derive(Clone, Debug)]
pub(in crate::files) struct ImageCopy {
    content: ContentName,
    pub(super) width: Width,
    pub(super) encoding: Encoding,
}

impl ImageCopy {
    /// Returns the copy of a content. Clients that do not accept WebP get JPEG or PNG.
    pub(in crate::files) fn new(content: ContentName, width: Width, accepts_webp: bool) -> Self {
        let encoding = if accepts_webp { Encoding::WebP } else { Encoding::JpegOrPng };
        Self { content, width, encoding }
    }

    /// Returns what distinguishes the copy from the content and from other copies.
    pub(in crate::files) fn tag(&self) -> String {
        let encoding = match self.encoding {
            Encoding::WebP => "webp",
            Encoding::JpegOrPng => "other",
        };
        format!("{}-{encoding}", self.width)
    }

    /// Returns the key of the copy while it is made.
    pub(super) fn key(&self) -> String {
        format!("{}-{}", self.content.as_str(), self.tag())
    }

    /// Returns the names that the copy may have in the store, with their media types. Which one it has depends on
    /// whether any pixel is transparent.
    pub(super) fn names(&self) -> impl Iterator<Item = (ContentName, &'static str)> {
        let is_webp = self.encoding == Encoding::WebP;
        let types = TYPES.into_iter().filter(move |(_, ending)| (*ending == "webp") == is_webp);
        types.map(|(media_type, ending)| (self.content.copy(self.width.pixels(), ending), media_type))
    }

    /// Returns the name of the copy with this media type.
    pub(super) fn name(&self, media_type: &str) -> Option<ContentName> {
        self.names().find(|(_, other)| *other == media_type).map(|(name, _)| name)
    }

    /// Returns the names of all copies that a content may have.
    pub(in crate::files) fn all_names(content: &ContentName) -> Vec<ContentName> {
        let names = |width: Width| TYPES.map(|(_, ending)| content.copy(width.pixels(), ending));
        Width::all().flat_map(names).collect()
    }
}

/// Returns the file name of a copy with this media type: the content's with another ending.
pub(in crate::files) fn file_name(name: &str, media_type: &str) -> String {
    let ending = TYPES.iter().find(|(other, _)| *other == media_type).map_or("", |(_, ending)| ending);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    format!("{stem}.{ending}")
}
