//! A listing, its statuses and their transitions (`docs/api/listings.md`, "Lifecycle").

use std::collections::BTreeMap;

use common::Error;
use common::wire::FileReference;
use database::{Id, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::geo::{Point, chord2, km_of};
use super::location::{Coordinates, Location};
use super::price::Price;
use super::search_fields::SearchFields;

/// Animals or supplies that are offered or wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    /// UUID, version 7.
    #[schema(value_type = String, format = Uuid)]
    pub id: Id,
    /// The user who created the listing.
    pub user_id: String,
    /// The organisation that the listing belongs to.
    pub organisation_id: String,
    /// The organisation's name when the listing was created.
    pub organisation_name: String,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub status: Status,
    /// A main category or parts of one: see `GET /v1/categories`.
    pub category_ids: Vec<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub location: Option<Location>,
    pub price: Price,
    pub files: Vec<FileReference>,
    pub description: String,
    /// Labels.
    pub tags: Vec<String>,
    /// The properties of the category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, required = false)]
    pub properties: Option<Map<String, Value>>,
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// The distance from the point of the search, rounded to metres; absent without a point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub distance_km: Option<f64>,
}

/// Whether something is offered or wanted.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
#[schema(as = ListingType)]
pub enum Kind {
    #[default]
    Selling,
    Buying,
}

impl Kind {
    /// Returns the name that is stored and sent.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The status of a listing.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    ToSchema,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
#[schema(as = ListingStatus)]
pub enum Status {
    /// Visible to its organisation only.
    Draft,
    /// Visible to everybody.
    Active,
    /// Closed: the offered animals or supplies are sold.
    Sold,
    /// Closed: the wanted animals or supplies are found.
    Found,
    /// Closed: neither sold nor found.
    Cancelled,
}

impl Status {
    /// Returns the name that is stored and sent.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns whether the transition to a status is a change. A transition to the current status is none.
    ///
    /// # Errors
    /// 409 if the lifecycle does not have the transition.
    pub fn changes_to(self, to: Self) -> Result<bool, Error> {
        match (self, to) {
            (Self::Draft, Self::Active | Self::Cancelled)
            | (Self::Active, Self::Sold | Self::Found | Self::Cancelled) => Ok(true),
            (from, to) if from == to => Ok(false),
            _ => {
                let (from, to) = (self.as_str(), to.as_str());
                Err(Error::conflict(format!("The listing's status is {from}: it cannot become {to}.")))
            }
        }
    }
}

impl Listing {
    /// Returns the parts of the properties that searches compare.
    pub fn search_fields(&self) -> SearchFields {
        SearchFields::of(self.properties.as_ref())
    }

    /// Returns the organisations that the files of the listing are shared with: `*` (everybody) while it is active.
    pub fn audience(&self) -> &'static [&'static str] {
        if self.status == Status::Active { &["*"] } else { &[] }
    }

    /// Returns the terms of the listing with their spellings: its breeds and society by lower-case name, and its types
    /// by lower-case name after the prefix [`TYPE`].
    pub fn terms(&self) -> BTreeMap<String, String> {
        let text = |name| self.properties.as_ref()?.get(name)?.as_str().map(str::trim);
        let spellings = ["breed", "breedType", "breedSociety"].into_iter().filter_map(text);
        let breeds = spellings.map(|text| (text.to_lowercase(), text.to_owned()));
        let types = self.search_fields().types.into_iter().map(|name| (format!("{TYPE}{name}"), name));
        breeds.chain(types).collect()
    }
}

/// The prefix of types among the terms. No breed or society starts with it, because they have no line breaks.
pub const TYPE: &str = "type\n";

/// Appends `distanceKm`, the distance from a point, to the document of a listing that has coordinates.
///
/// # Errors
/// If the document is not that of a listing.
pub fn append_distance(document: &mut String, point: Point) -> Result<(), serde_json::Error> {
    #[derive(Deserialize)]
    struct DocumentLocation {
        location: Option<LocationCoordinates>,
    }
    #[derive(Deserialize)]
    struct LocationCoordinates {
        coordinates: Option<Coordinates>,
    }
    let document_location: DocumentLocation = serde_json::from_str(document)?;
    let coordinates = document_location.location.and_then(|location| location.coordinates);
    if let Some(listing_point) = coordinates.and_then(|coordinates| coordinates.point()) {
        let km = km_of(chord2(listing_point.unit(), point.unit()));
        let km = serde_json::to_string(&((km * 1000.0).round() / 1000.0))?;
        document.truncate(document.trim_end().len() - 1);
        document.extend([",\"distanceKm\":", &km, "}"]);
    }
    Ok(())
}

/// A listing that is not stored yet. Its files are the references of the request. Fields without a comment are those of
/// [`Listing`].
#[derive(Clone, Debug, PartialEq)]
pub struct NewListing {
    pub kind: Kind,
    pub is_draft: bool,
    /// The main category.
    pub category: i32,
    pub category_ids: Vec<i32>,
    pub location: Option<Location>,
    pub price: Price,
    pub files: Vec<FileReference>,
    pub description: String,
    pub tags: Vec<String>,
    pub properties: Option<Map<String, Value>>,
}

impl NewListing {
    /// Creates the listing with a new id and the current time. `files` are the references that system has completed.
    pub fn into_listing(
        self,
        user_id: &str,
        organisation: &common::Organisation,
        files: Vec<FileReference>,
    ) -> Listing {
        Listing {
            id: Id::new(),
            user_id: user_id.to_owned(),
            organisation_id: organisation.id.clone(),
            organisation_name: organisation.name_or_id(),
            kind: self.kind,
            status: if self.is_draft { Status::Draft } else { Status::Active },
            category_ids: self.category_ids,
            location: self.location,
            price: self.price,
            files,
            description: self.description,
            tags: self.tags,
            properties: self.properties,
            created_at: Timestamp::now(),
            distance_km: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantArray;

    use super::Status::{Active, Cancelled, Draft, Found, Sold};
    use super::*;

    #[test]
    fn only_the_transitions_of_the_lifecycle_succeed() {
        let all = [Draft, Active, Sold, Found, Cancelled];
        assert_eq!(Status::VARIANTS, all);
        let changes =
            [(Draft, Active), (Draft, Cancelled), (Active, Sold), (Active, Found), (Active, Cancelled)];
        for (from, to) in all.into_iter().flat_map(|from| all.map(|to| (from, to))) {
            let result = Status::changes_to(from, to);
            if from == to || changes.contains(&(from, to)) {
                assert_eq!(result.unwrap(), from != to, "{from:?} {to:?}");
            } else {
                let message = result.unwrap_err().to_string();
                assert!(message.contains(from.as_str()), "{from:?} {to:?}: {message}");
            }
        }
    }

    #[test]
    fn appends_the_distance_if_there_are_coordinates() {
        let point = Point { lat: 51.0, lon: -3.0 };
        let near =
            r#"{"id":"1","location":{"threeWords":"a.b.c","coordinates":{"lat":52,"lon":-3}},"tags":["}"]}"#;
        let mut document = near.to_owned();
        append_distance(&mut document, point).unwrap();
        assert_eq!(document, near.replace(r#""tags":["}"]}"#, r#""tags":["}"],"distanceKm":111.195}"#));
        for without in [r#"{"id":"1"}"#, r#"{"id":"1","location":{"address":{"city":"Hay"}}}"#] {
            let mut document = without.to_owned();
            append_distance(&mut document, point).unwrap();
            assert_eq!(document, without);
        }
        assert!(append_distance(&mut String::new(), point).is_err());
    }
}
