//! What a listing is.

use common::Error;
use std::collections::BTreeMap;

use common::wire::FileReference;
use database::{Id, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::geo::{Point, chord2, km_of};
use super::location::{Coordinates, Location};
use super::price::Price;
use super::search_fields::SearchFields;

/// Animals or supplies offered or wanted (interface.md, 2.11).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    /// UUIDv7.
    #[schema(value_type = String, format = Uuid)]
    pub id: Id,
    /// Who created it.
    pub user_id: String,
    /// For which organisation.
    pub organisation_id: String,
    /// The organisation's name at that time.
    pub organisation_name: String,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub status: Status,
    /// A main category or parts of it: see `GET /v1/categories`.
    pub category_ids: Vec<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub location: Option<Location>,
    pub price: Price,
    pub files: Vec<FileReference>,
    pub description: String,
    /// Free labels.
    pub tags: Vec<String>,
    /// What the category asks besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, required = false)]
    pub properties: Option<Map<String, Value>>,
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// From the point that a search gave, to the metre; shown only then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub distance_km: Option<f64>,
}

/// Offered or wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ListingType)]
pub enum Kind {
    #[default]
    Selling,
    Buying,
}

impl Kind {
    /// As stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Selling => "selling",
            Self::Buying => "buying",
        }
    }
}

/// How far a listing has come (contract, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ListingStatus)]
pub enum Status {
    /// For its organisation only.
    Draft,
    /// On the market.
    Active,
    /// Closed: what was offered is sold.
    Sold,
    /// Closed: what was wanted is found.
    Found,
    /// Closed: neither.
    Cancelled,
}

impl Status {
    /// As stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Active => "active",
            Self::Sold => "sold",
            Self::Found => "found",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether a listing changes by becoming this; what it is already it stays.
    ///
    /// # Errors
    /// 409 for a way that the contract does not know.
    pub fn changes_to(self, to: Self) -> Result<bool, Error> {
        match (self, to) {
            (Self::Draft, Self::Active | Self::Cancelled)
            | (Self::Active, Self::Sold | Self::Found | Self::Cancelled) => Ok(true),
            (from, to) if from == to => Ok(false),
            _ => {
                let (is, to) = (self.as_str(), to.as_str());
                Err(Error::conflict(format!("The listing's status is {is}: it cannot become {to}.")))
            }
        }
    }
}

impl Listing {
    /// What a search compares of its properties.
    pub fn search_fields(&self) -> SearchFields {
        SearchFields::of(self.properties.as_ref())
    }

    /// The organisations that its files are shared with: everybody while it is on the market.
    pub fn audience(&self) -> &'static [&'static str] {
        if self.status == Status::Active { &["*"] } else { &[] }
    }

    /// Its breeds and society in lower case, each with how it is written; and its types, after [`TYPE`].
    pub fn terms(&self) -> BTreeMap<String, String> {
        let text = |name| self.properties.as_ref()?.get(name)?.as_str().map(str::trim);
        let written = ["breed", "breedType", "breedSociety"].into_iter().filter_map(text);
        let breeds = written.map(|text| (text.to_lowercase(), text.to_owned()));
        let types = self.search_fields().types.into_iter().map(|name| (format!("{TYPE}{name}"), name));
        breeds.chain(types).collect()
    }
}

/// What types are told from breeds by among the terms: no text has a line break.
pub const TYPE: &str = "type\n";

/// Adds to a listing's document its distance from a point, which comes last, if it has a place.
///
/// # Errors
/// If it is no listing's document.
pub fn append_distance(document: &mut String, point: Point) -> Result<(), serde_json::Error> {
    #[derive(Deserialize)]
    struct Placed {
        location: Option<Located>,
    }
    #[derive(Deserialize)]
    struct Located {
        coordinates: Option<Coordinates>,
    }
    let placed: Placed = serde_json::from_str(document)?;
    let location = placed.location.and_then(|location| location.coordinates);
    if let Some(place) = location.and_then(|coordinates| coordinates.point()) {
        let km = km_of(chord2(place.unit(), point.unit()));
        let shown = serde_json::to_string(&((km * 1000.0).round() / 1000.0))?;
        document.truncate(document.trim_end().len() - 1);
        document.extend([",\"distanceKm\":", &shown, "}"]);
    }
    Ok(())
}

/// What a listing begins with; its files are only references yet.
#[derive(Clone, Debug, PartialEq)]
pub struct NewListing {
    /// See [`Listing`].
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
    /// The listing, as it is stored and shown.
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
    use super::Status::{self, Active, Cancelled, Draft, Found, Sold};
    use super::*;

    #[test]
    fn the_ways_of_a_listing() {
        let all = [Draft, Active, Sold, Found, Cancelled];
        let changes =
            [(Draft, Active), (Draft, Cancelled), (Active, Sold), (Active, Found), (Active, Cancelled)];
        for (from, to) in all.into_iter().flat_map(|from| all.map(|to| (from, to))) {
            let answer = Status::changes_to(from, to);
            if from == to || changes.contains(&(from, to)) {
                assert_eq!(answer.unwrap(), from != to, "{from:?} {to:?}");
            } else {
                let told = answer.unwrap_err().to_string();
                assert!(told.contains(from.as_str()), "{from:?} {to:?}: {told}");
            }
        }
    }

    #[test]
    fn a_distance_comes_last_if_there_is_one() {
        let point = Point { lat: 51.0, lon: -3.0 };
        let near =
            r#"{"id":"1","location":{"threeWords":"a.b.c","coordinates":{"lat":52,"lon":-3}},"tags":["}"]}"#;
        let mut seen = near.to_owned();
        append_distance(&mut seen, point).unwrap();
        assert_eq!(seen, near.replace(r#""tags":["}"]}"#, r#""tags":["}"],"distanceKm":111.195}"#));
        for unplaced in [r#"{"id":"1"}"#, r#"{"id":"1","location":{"address":{"city":"Hay"}}}"#] {
            let mut seen = unplaced.to_owned();
            append_distance(&mut seen, point).unwrap();
            assert_eq!(seen, unplaced);
        }
        assert!(append_distance(&mut String::new(), point).is_err());
    }
}
