//! Smaller copies of images (`docs/api/files.md`, "Smaller images"; `docs/decisions/0045-images.md`).
//!
//! A copy is made when it is first asked for, and kept in the blob store beside the blob of its image, under the name
//! of that blob with the width and the encoding. No row refers to it: a request looks for it in the store, and makes it
//! if it is not there. Archiving a file removes the copies of its content unless another file has the same content, and
//! the sweep removes copies that were left.

mod copies;
mod decodes;

use std::fmt;

use images::Encoding;
use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

pub(crate) use copies::{ByteSource, FoundCopy, ImageCopies};
pub(crate) use decodes::register_metrics;

use super::blob_store::BlobName;

/// The widths in pixels that a client can choose.
const WIDTHS: [u32; 4] = [160, 320, 640, 1280];
/// The media types of copies, and how their names end.
const TYPES: [(&str, &str); 3] = [("image/webp", "webp"), ("image/jpeg", "jpeg"), ("image/png", "png")];

/// The width of a smaller image in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32")]
pub(crate) struct Width(u32);

impl Width {
    /// Returns the width, or `None` if clients cannot choose it.
    pub(crate) fn parse(pixels: u32) -> Option<Self> {
        WIDTHS.contains(&pixels).then_some(Self(pixels))
    }

    /// Returns the pixels.
    pub(crate) fn pixels(self) -> u32 {
        self.0
    }

    /// Returns the schema of several widths.
    pub(crate) fn list_schema() -> RefOr<Schema> {
        ArrayBuilder::new().items(Self::schema()).max_items(Some(WIDTHS.len())).into()
    }

    /// Returns all widths.
    fn all() -> impl Iterator<Item = Self> {
        WIDTHS.into_iter().map(Self)
    }
}

impl TryFrom<u32> for Width {
    type Error = &'static str;

    fn try_from(pixels: u32) -> Result<Self, Self::Error> {
        Self::parse(pixels).ok_or("not a width of smaller images")
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialSchema for Width {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::Integer).enum_values(Some(WIDTHS)).into()
    }
}
impl ToSchema for Width {}

/// A smaller copy of an image that a client asks for.
#[derive(Clone, Debug)]
pub(crate) struct ImageCopy {
    original: BlobName,
    width: Width,
    encoding: Encoding,
}

impl ImageCopy {
    /// Returns the copy of an image. Clients that do not accept WebP get JPEG or PNG.
    pub(crate) fn new(original: BlobName, width: Width, accepts_webp: bool) -> Self {
        let encoding = if accepts_webp { Encoding::WebP } else { Encoding::JpegOrPng };
        Self { original, width, encoding }
    }

    /// Returns what distinguishes the copy from the original and from other copies.
    pub(crate) fn tag(&self) -> String {
        let encoding = match self.encoding {
            Encoding::WebP => "webp",
            Encoding::JpegOrPng => "other",
        };
        format!("{}-{encoding}", self.width)
    }

    /// Returns the key of the copy while it is made.
    fn key(&self) -> String {
        format!("{}-{}", self.original.as_str(), self.tag())
    }

    /// Returns the names that the copy may have in the store, with their media types. Which one it has depends on
    /// whether any pixel is transparent.
    fn names(&self) -> impl Iterator<Item = (BlobName, &'static str)> {
        let is_webp = self.encoding == Encoding::WebP;
        let types = TYPES.into_iter().filter(move |(_, ending)| (*ending == "webp") == is_webp);
        types.map(|(media_type, ending)| (self.original.copy(self.width.pixels(), ending), media_type))
    }

    /// Returns the name of the copy with this media type.
    fn name(&self, media_type: &str) -> Option<BlobName> {
        self.names().find(|(_, other)| *other == media_type).map(|(name, _)| name)
    }

    /// Returns the names of all copies that an image may have.
    pub(crate) fn all_names(original: &BlobName) -> Vec<BlobName> {
        let names = |width: Width| TYPES.map(|(_, ending)| original.copy(width.pixels(), ending));
        Width::all().flat_map(names).collect()
    }
}

/// Returns the file name of a copy with this media type: the original's with another ending.
pub(crate) fn file_name(name: &str, media_type: &str) -> String {
    let ending = TYPES.iter().find(|(other, _)| *other == media_type).map_or("", |(_, ending)| ending);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    format!("{stem}.{ending}")
}
