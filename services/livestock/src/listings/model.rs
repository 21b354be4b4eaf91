//! A listing, its statuses and their transitions (`docs/api/listings.md`, "Lifecycle"), and an enquiry about it.

use std::collections::BTreeMap;

use common::wire::{FileReference, Warning, comparison_key};
use common::{Caller, Error, Reason, first_revision};
use database::{Id, Json, Timestamp};
use diesel::{Queryable, Selectable};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::geo::distance_km;
use super::location::{Location, point_of};
use super::price::Price;
use super::properties::ListingProperties;
use super::search_fields::SearchFields;
use crate::webhook_events::{CLOSED, PUBLISHED};

/// Animals or supplies that are offered or wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listing {
    /// UUID, version 7.
    #[schema(value_type = String, format = Uuid)]
    pub(crate) id: Id,
    /// The user who created the listing.
    pub(crate) user_id: String,
    /// The organisation that the listing belongs to.
    pub(crate) organisation_id: String,
    /// The organisation's name when the listing was created.
    pub(crate) organisation_name: String,
    /// Whether the animals or supplies are offered or wanted.
    #[serde(rename = "type")]
    pub(crate) kind: Kind,
    /// The stage of its lifecycle.
    pub(crate) status: Status,
    /// A main category or parts of one: see `GET /v1/categories`.
    pub(crate) category_ids: Vec<i32>,
    /// Where the animals or supplies are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) location: Option<Location>,
    /// The price for one animal or one unit of supplies.
    pub(crate) price: Price,
    /// Files such as photographs and certificates.
    pub(crate) files: Vec<FileReference>,
    /// Free text, may have line breaks.
    pub(crate) description: String,
    /// Free-form labels.
    pub(crate) tags: Vec<String>,
    /// The properties of the category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ListingProperties, required = false)]
    pub(crate) properties: Option<Map<String, Value>>,
    /// When the listing was created.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) created_at: Timestamp,
    /// The number of the revision, as in `ETag`: 1, and one more with each change.
    #[serde(default = "first_revision")]
    #[schema(required = true)]
    pub(crate) revision: i64,
    /// When this revision was stored.
    #[serde(rename = "updatedAtUTC", default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime, required = true)]
    pub(crate) updated_at: Option<Timestamp>,
    /// When the listing was published; absent if it never was.
    #[serde(default, rename = "publishedAtUTC", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub(crate) published_at: Option<Timestamp>,
    /// The distance from the point of the search in kilometres, rounded to metres; absent without a point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) distance_km: Option<f64>,
    /// Whether the listing is on the caller's wishlist. In listings that a caller reads or finds; `ETag` does not cover
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) is_wishlisted: Option<bool>,
    /// `true` if the organisation of an active listing is suspended: only its own callers and `admin` read it. Never
    /// stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) suspended: Option<bool>,
    /// Only in the response of the request that they are about: `ignored` at amounts that the type of the price does
    /// not use, `no_coordinates` at a postcode that gives no coordinates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) warnings: Vec<Warning>,
}

/// Whether something is offered or wanted.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
#[schema(as = ListingType)]
pub(crate) enum Kind {
    /// Offered.
    #[default]
    Selling,
    /// Wanted.
    Buying,
}

impl Kind {
    /// Returns the name that is stored and sent.
    pub(crate) fn as_str(self) -> &'static str {
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
pub(crate) enum Status {
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
    /// The statuses of listings that are not closed.
    pub(crate) const OPEN: [Self; 2] = [Self::Draft, Self::Active];

    /// Returns true unless the listing is closed.
    pub(crate) fn is_open(self) -> bool {
        Self::OPEN.contains(&self)
    }

    /// Returns the name that is stored and sent.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }

    /// Checks a transition. Returns whether it changes the status: a transition to the current status does not.
    ///
    /// # Errors
    /// 409 if the lifecycle does not have the transition.
    pub(crate) fn check_transition(self, to: Self) -> Result<bool, Error> {
        match (self, to) {
            (Self::Draft, Self::Active | Self::Cancelled)
            | (Self::Active, Self::Sold | Self::Found | Self::Cancelled) => Ok(true),
            (from, to) if from == to => Ok(false),
            (from, to) => {
                let reason = match from {
                    Self::Draft => Reason::ListingDraft,
                    Self::Active => Reason::ListingPublished,
                    Self::Sold | Self::Found | Self::Cancelled => Reason::ListingClosed,
                };
                let (from, to) = (from.as_str(), to.as_str());
                Err(Error::conflict(
                    reason,
                    format!("The listing's status is {from}: it cannot become {to}."),
                ))
            }
        }
    }
}

impl Listing {
    /// Returns the listing with this document. `revision` is the column: documents of earlier releases do not show it.
    ///
    /// # Errors
    /// If the document is not that of a listing.
    pub(crate) fn parse(document: &Json, revision: i64) -> Result<Self, Error> {
        let mut listing = Self { revision, ..document.parse()? };
        listing.updated_at.get_or_insert(listing.created_at);
        Ok(listing)
    }

    /// Begins the next revision, for a change that is stored.
    pub(crate) fn revise(&mut self) {
        self.revision += 1;
        self.updated_at = Some(Timestamp::now());
    }

    /// Returns the event that webhooks get when the listing has got its status (docs/api/webhooks.md, "Events"). A new
    /// draft is no event.
    pub(crate) fn status_event(&self) -> Option<&'static str> {
        match self.status {
            Status::Draft => None,
            Status::Active => Some(PUBLISHED),
            Status::Sold | Status::Found | Status::Cancelled => Some(CLOSED),
        }
    }

    /// Checks that the caller may change the listing.
    ///
    /// # Errors
    /// 403 unless the caller acts for the listing's organisation or is `admin`.
    pub(crate) fn check_owner(&self, caller: &Caller) -> Result<(), Error> {
        if caller.admin || caller.acts_for(&self.organisation_id) {
            Ok(())
        } else {
            Err(Error::Forbidden("This listing is another organisation's."))
        }
    }

    /// Returns the parts of the properties that searches compare.
    pub(crate) fn search_fields(&self) -> SearchFields {
        SearchFields::of(self.properties.as_ref())
    }

    /// Returns the organisations that the files of the listing are shared with: `*` (everybody) while it is active.
    pub(crate) fn audience(&self) -> &'static [&'static str] {
        if self.status == Status::Active { &["*"] } else { &[] }
    }

    /// Returns the terms of the listing with their spellings: its breeds and society by comparison key, and its types
    /// by lower-case name after the prefix [`TYPE_TERM_PREFIX`].
    pub(crate) fn terms(&self) -> BTreeMap<String, String> {
        let text = |name| self.properties.as_ref()?.get(name)?.as_str().map(str::trim);
        let spellings = ["breed", "breedType", "breedSociety"].into_iter().filter_map(text);
        let breeds = spellings.map(|text| (comparison_key(text), text.to_owned()));
        let types =
            self.search_fields().types.into_iter().map(|name| (format!("{TYPE_TERM_PREFIX}{name}"), name));
        breeds.chain(types).collect()
    }
}

/// The prefix of types among the terms. No breed or society starts with it, because they have no line breaks.
pub(crate) const TYPE_TERM_PREFIX: &str = "type\n";

/// Appends `distanceKm`, the distance from the point with this unit vector, to the document of a listing that has
/// coordinates.
///
/// # Errors
/// If the document is not that of a listing.
pub(crate) fn append_distance(document: &mut String, from: [f64; 3]) -> Result<(), serde_json::Error> {
    if let Some(listing_point) = point_of(document)? {
        append(document, "distanceKm", &distance_km(listing_point.unit_vector(), from))?;
    }
    Ok(())
}

/// Appends warnings of a request, if there are some, to the document of a listing.
pub(crate) fn append_warnings(document: &mut String, warnings: &[Warning]) -> Result<(), serde_json::Error> {
    if warnings.is_empty() { Ok(()) } else { append(document, "warnings", &warnings) }
}

/// Appends that the organisation of a listing is suspended to its document.
pub(crate) fn append_suspended(document: &mut String) -> Result<(), serde_json::Error> {
    append(document, "suspended", &true)
}

/// Appends whether a listing is on the wishlist of the reader to its document.
pub(crate) fn append_wishlisted(document: &mut String, is_wishlisted: bool) -> Result<(), serde_json::Error> {
    append(document, "isWishlisted", &is_wishlisted)
}

/// Appends a member to the document of a listing.
fn append(document: &mut String, name: &str, value: &impl Serialize) -> Result<(), serde_json::Error> {
    let value = serde_json::to_string(value)?;
    document.truncate(document.trim_end().len() - 1);
    document.extend([",\"", name, "\":", &value, "}"]);
    Ok(())
}

/// A listing that is not stored yet. Its files are the references of the request. Fields without a comment are those of
/// [`Listing`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NewListing {
    pub(crate) kind: Kind,
    pub(crate) is_draft: bool,
    /// The main category.
    pub(crate) category: i32,
    pub(crate) category_ids: Vec<i32>,
    pub(crate) location: Option<Location>,
    pub(crate) price: Price,
    pub(crate) files: Vec<FileReference>,
    pub(crate) description: String,
    pub(crate) tags: Vec<String>,
    pub(crate) properties: Option<Map<String, Value>>,
}

impl NewListing {
    /// Creates the listing with a new id and the current time. `files` are the references that system has completed.
    pub(crate) fn into_listing(
        self,
        user_id: &str,
        organisation: &common::Organisation,
        files: Vec<FileReference>,
    ) -> Listing {
        let created_at = Timestamp::now();
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
            created_at,
            revision: first_revision(),
            updated_at: Some(created_at),
            published_at: (!self.is_draft).then_some(created_at),
            distance_km: None,
            is_wishlisted: None,
            suspended: None,
            warnings: Vec::new(),
        }
    }
}

/// Whether the seller has answered an enquiry.
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
    strum::VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub(crate) enum EnquiryStatus {
    /// Not yet.
    Open,
    /// The seller marked it as answered.
    Answered,
}

impl EnquiryStatus {
    /// Returns the name that is stored and sent.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }
}

/// An enquiry as its sender, the seller's organisation and administrators read it. It does not tell who sent it,
/// besides the contact that the sender gave.
#[derive(Clone, Debug, Serialize, Queryable, Selectable, ToSchema)]
#[serde(rename_all = "camelCase")]
#[diesel(table_name = crate::schema::enquiries)]
pub(crate) struct Enquiry {
    /// UUID, version 7.
    #[schema(value_type = String, format = Uuid)]
    pub(crate) id: Id,
    /// The listing.
    #[schema(value_type = String, format = Uuid)]
    pub(crate) listing_id: Id,
    /// What the sender wants to know; `erased` after the sender was erased.
    pub(crate) message: String,
    /// The sender's name; empty after the sender was erased.
    pub(crate) name: String,
    /// The sender's telephone number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) phone: Option<String>,
    /// The sender's email address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) email: Option<String>,
    /// Whether the seller has answered.
    #[schema(value_type = EnquiryStatus)]
    pub(crate) status: String,
    /// When the enquiry was sent.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) created_at: Timestamp,
    /// When the seller marked it as answered.
    #[serde(rename = "answeredAtUTC", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub(crate) answered_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use strum::VariantArray;

    use super::super::geo::Point;
    use super::Status::{Active, Cancelled, Draft, Found, Sold};
    use super::*;

    #[test]
    fn only_the_transitions_of_the_lifecycle_succeed() {
        let all = [Draft, Active, Sold, Found, Cancelled];
        assert_eq!(Status::VARIANTS, all);
        let changes =
            [(Draft, Active), (Draft, Cancelled), (Active, Sold), (Active, Found), (Active, Cancelled)];
        for (from, to) in all.into_iter().flat_map(|from| all.map(|to| (from, to))) {
            let result = Status::check_transition(from, to);
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
        let point = Point { lat: 51.0, lon: -3.0 }.unit_vector();
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
