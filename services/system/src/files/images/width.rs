//! The widths of smaller images.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// The widths in pixels that a client can choose.
pub(super) const WIDTHS: [u32; 4] = [160, 320, 640, 1280];

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

    /// Returns all widths.
    pub(super) fn all() -> impl Iterator<Item = Self> {
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
