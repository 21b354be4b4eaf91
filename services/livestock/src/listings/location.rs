//! The location of animals or supplies (`docs/api/listings.md`, "Create"). It is stored as it was sent, except that the
//! postcode and the code of the country are normalized, and that missing coordinates are those of the postcode.

use std::fmt;

use common::system::PostcodeQuery;
use common::validation::{Code, ValidationErrors};
use common::wire::{Name, Postcode};
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Number;
use utoipa::ToSchema;

use super::geo::Point;

/// The location of animals or supplies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Location {
    /// The three-word address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub three_words: Option<Name>,
    /// The postal address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub address: Option<Address>,
    /// The coordinates. A search by distance does not find a listing without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub coordinates: Option<Coordinates>,
    /// `postcode`: the coordinates are those of the postcode. Absent: the request had them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub coordinates_source: Option<CoordinatesSource>,
}

/// Where coordinates come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CoordinatesSource {
    Postcode,
}

/// The location in a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(as = NewLocation)]
pub(crate) struct LocationForm {
    /// The three-word address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    three_words: Option<Name>,
    /// The postal address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    address: Option<Address>,
    /// The coordinates. Without them, the listing gets those of the postcode.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    coordinates: Option<Coordinates>,
}

impl LocationForm {
    /// Checks the rules that the schema cannot express.
    pub(crate) fn validate(&self, errors: &mut ValidationErrors) {
        let country = self.address.as_ref().and_then(|address| address.country_iso.as_ref());
        if country.is_some_and(|code| country_code(&code.0).is_none()) {
            let message = "must be an ISO 3166-1 alpha-2 code, such as GB or IE";
            errors.push("location.address.countryISO", Code::Enum, message);
        }
    }
}

/// Returns the ISO 3166-1 alpha-2 code of a country, which is sent in any case, and as `UK` for `GB`.
fn country_code(sent: &str) -> Option<&'static str> {
    let code = sent.trim().to_uppercase();
    let code = if code == "UK" { "GB" } else { &code };
    gazetteer::country(code).map(|country| country.iso)
}

impl From<LocationForm> for Location {
    fn from(form: LocationForm) -> Self {
        let LocationForm { three_words, mut address, coordinates } = form;
        if let Some(Address { country_iso: Some(code), .. }) = &mut address
            && let Some(known) = country_code(&code.0)
        {
            known.clone_into(&mut code.0);
        }
        Self { three_words, address, coordinates, coordinates_source: None }
    }
}

/// A postal address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Address {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    name: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    line1: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    line2: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    line3: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub city: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub region: Option<Name>,
    #[serde(rename = "regionISO", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    region_iso: Option<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub postcode: Option<Postcode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    country_name: Option<Name>,
    #[serde(rename = "countryISO", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    country_iso: Option<Name>,
}

impl Address {
    /// Returns the outward code of a postcode of the United Kingdom, Jersey, Guernsey or Man: `LD3` of `LD3 7EG`.
    /// Returns `None` for postcodes of other countries.
    pub(crate) fn outward_code(&self) -> Option<&str> {
        let is_british = |code: &Name| {
            ["GB", "UK", "JE", "GG", "IM"].iter().any(|british| code.0.eq_ignore_ascii_case(british))
        };
        if !self.country_iso.as_ref().is_none_or(is_british) {
            return None;
        }
        let postcode = self.postcode.as_ref()?.0.trim();
        let is_outward = |code: &str| {
            let area = code.len() - code.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
            let mut district = code[area..].chars();
            (1..=2).contains(&area)
                && code.len() <= area + 2
                && district.next().is_some_and(|c| c.is_ascii_digit())
                && district.all(|c| c.is_ascii_alphanumeric())
        };
        // A sector has a digit in place of the inward code.
        let is_inward = |code: &str| {
            let mut letters = code.chars();
            letters.next().is_none_or(|c| c.is_ascii_digit())
                && (code.len() <= 1 || code.len() == 3 && letters.all(|c| c.is_ascii_alphabetic()))
        };
        let (outward, inward) = match postcode.split_once(char::is_whitespace) {
            Some((outward, inward)) => (outward, inward.trim()),
            None if postcode.len() >= 5 => postcode.split_at_checked(postcode.len() - 3)?,
            None => (postcode, ""),
        };
        Some(outward).filter(|code| is_outward(code) && is_inward(inward))
    }

    /// Returns the address as visitors see it.
    fn for_visitors(self) -> Self {
        let postcode = self.outward_code().map(|code| Postcode(code.to_owned()));
        Self { name: None, line1: None, line2: None, line3: None, postcode, ..self }
    }
}

/// Coordinates in degrees, WGS 84.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct Coordinates {
    /// Degrees north.
    #[schema(required = true, value_type = f64, minimum = -90, maximum = 90)]
    pub lat: Number,
    /// Degrees east.
    #[schema(required = true, value_type = f64, minimum = -180, maximum = 180)]
    pub lon: Number,
}

impl Location {
    /// Returns the point of the coordinates.
    pub(crate) fn point(&self) -> Option<Point> {
        self.coordinates.as_ref()?.point()
    }

    /// Returns the location as requests state it: without the coordinates of its postcode.
    pub(crate) fn as_requested(&self) -> Self {
        let is_given = self.coordinates_source.is_none();
        let coordinates = self.coordinates.clone().filter(|_| is_given);
        Self { coordinates, coordinates_source: None, ..self.clone() }
    }

    /// Returns the location as visitors see it: with rounded coordinates, and without what is more precise than these.
    pub(crate) fn for_visitors(self) -> Self {
        let address = self.address.map(Address::for_visitors);
        let rounded = self.coordinates.and_then(|coordinates| coordinates.point());
        let rounded = rounded.map(|point| Point::rounded(point.unit_vector()));
        let coordinates = rounded.and_then(|point| Coordinates::new(point.lat, point.lon));
        Self { three_words: None, address, coordinates, coordinates_source: self.coordinates_source }
    }

    /// Returns the postcode whose coordinates the location lacks. `None` if it has coordinates, or no postcode.
    pub(crate) fn postcode_query(&self) -> Option<PostcodeQuery> {
        let address = self.address.as_ref().filter(|_| self.coordinates.is_none())?;
        let country = address.country_iso.as_ref().map(|code| code.0.to_uppercase());
        Some(PostcodeQuery { postcode: address.postcode.as_ref()?.0.clone(), country })
    }

    /// Takes the coordinates of the postcode from the location before a change, if the postcode is the same.
    pub(crate) fn keep_coordinates_of(&mut self, before: &Self) {
        let query = self.postcode_query();
        if query.is_some() && before.coordinates.is_some() && query == before.as_requested().postcode_query()
        {
            self.coordinates.clone_from(&before.coordinates);
            self.coordinates_source = before.coordinates_source;
        }
    }
}

impl Coordinates {
    /// Returns the coordinates of a point. `None` if a number is not finite.
    pub(crate) fn new(lat: f64, lon: f64) -> Option<Self> {
        Some(Self { lat: Number::from_f64(lat)?, lon: Number::from_f64(lon)? })
    }

    /// Returns the point.
    pub(crate) fn point(&self) -> Option<Point> {
        Some(Point { lat: self.lat.as_f64()?, lon: self.lon.as_f64()? })
    }
}

impl Default for Coordinates {
    fn default() -> Self {
        Self { lat: 0.into(), lon: 0.into() }
    }
}

#[derive(Deserialize)]
struct DocumentLocation {
    coordinates: Option<Coordinates>,
}

/// Returns the point of a listing's document, if the listing has coordinates. Does not parse what follows the location,
/// which is most of a document: a page with distances needs the points of all its listings.
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
