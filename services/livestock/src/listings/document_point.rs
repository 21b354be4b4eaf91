//! The coordinates of a stored document, read without parsing what follows them. A page with distances needs them of
//! every listing, and most of a document comes after the location.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::geo::Point;
use super::location::Coordinates;

#[derive(Deserialize)]
struct DocumentLocation {
    coordinates: Option<Coordinates>,
}

/// Returns the point of a listing's document, if the listing has coordinates.
///
/// # Errors
/// If the document is not that of a listing.
pub(crate) fn point_of(document: &str) -> Result<Option<Point>, serde_json::Error> {
    let mut visitor = LocationVisitor { location: None, is_read: false };
    let parsed = serde_json::Deserializer::from_str(document).deserialize_map(&mut visitor);
    // The visitor stops at the location, and the parser then misses the end of the document.
    if !visitor.is_read {
        parsed?;
    }
    let coordinates = visitor.location.and_then(|location| location.coordinates);
    Ok(coordinates.and_then(|coordinates| coordinates.point()))
}

struct LocationVisitor {
    location: Option<DocumentLocation>,
    /// Whether the location, which may be null, is read.
    is_read: bool,
}

impl<'de> Visitor<'de> for &mut LocationVisitor {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a listing")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<&str>()? {
            if name == "location" {
                self.location = map.next_value()?;
                self.is_read = true;
                return Err(A::Error::custom("the location is read"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}
