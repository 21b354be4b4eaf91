//! Events of listings as the feed shows them, and who reads them.

use std::collections::BTreeSet;

use common::Caller;
use common::feed::{Place, Readers};
use common::history::Change;
use database::{Id, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::listings::model::{Enquiry, Listing, Status};
use crate::webhook_events::{CLOSED, ENQUIRY, MATCHED, PUBLISHED, UPDATED};

/// What happened to a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ListingFeedEventType)]
pub(crate) enum FeedEventType {
    #[serde(rename = "listing.published")]
    Published,
    #[serde(rename = "listing.updated")]
    Updated,
    #[serde(rename = "listing.closed")]
    Closed,
    #[serde(rename = "listing.matched")]
    Matched,
    #[serde(rename = "listing.enquiry")]
    Enquiry,
}

impl FeedEventType {
    /// Returns the type of a change from one status to another; `None` if the listing is a draft.
    fn of_change(from: Option<&str>, to: &str) -> Option<Self> {
        if to == Status::Draft.as_str() {
            None
        } else if to != Status::Active.as_str() {
            Some(Self::Closed)
        } else if from == Some(to) {
            Some(Self::Updated)
        } else {
            Some(Self::Published)
        }
    }

    /// Returns the name in responses.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Published => PUBLISHED,
            Self::Updated => UPDATED,
            Self::Closed => CLOSED,
            Self::Matched => MATCHED,
            Self::Enquiry => ENQUIRY,
        }
    }
}

/// An event of the feed (docs/api/events.md).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FeedListingEvent {
    /// UUID: that of the event in the history of the listing, or of the enquiry. Matches have ids of their own.
    #[schema(value_type = String, format = Uuid)]
    pub id: Id,
    /// What happened.
    #[serde(rename = "type")]
    pub event_type: FeedEventType,
    /// When it happened.
    #[serde(rename = "atUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The listing.
    #[schema(value_type = String, format = Uuid)]
    pub listing_id: Id,
    /// The revision of the listing after the event.
    pub revision: i64,
    /// Claim `sub` of the user who changed the listing, or saved the search. Absent in the market, and if the search
    /// was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub user_id: Option<String>,
    /// The name of the user who changed the listing. Absent in the market.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub user_name: Option<String>,
    /// The organisation that the user acted for. Absent in the market.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub organisation_id: Option<String>,
    /// The status that the closing request named, or `moderation` if `admin` removed the listing because of a report,
    /// which is `cancelled` in the market.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// The changed members by their names in requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<std::collections::BTreeMap<String, Change>>, nullable = false)]
    pub changes: Option<Box<RawValue>>,
    /// The search that found the listing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Uuid, nullable = false)]
    pub saved_search_id: Option<Id>,
    /// The enquiry as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub enquiry: Option<Enquiry>,
    /// With `include=resource`: the listing as it is now, if the caller may still read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Listing>, nullable = false)]
    pub listing: Option<Box<RawValue>>,
}

/// A page of the feed.
#[derive(ToSchema)]
#[schema(as = ListingFeedPage)]
#[expect(dead_code, reason = "describes the body, which is built from the documents of events")]
pub(crate) struct FeedPageBody {
    /// Oldest first.
    events: Vec<FeedListingEvent>,
    /// Where the next page begins: parameter `after`.
    cursor: String,
    /// Whether the next page may have events already.
    more: bool,
}

/// Whose events are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// Those of the listings of an organisation, and the matches of its users' searches.
    #[default]
    Own,
    /// Those of all listings that were ever published.
    Market,
}

/// Who reads the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FeedReader {
    /// All events.
    Admin,
    /// Those of an organisation.
    Organisation(String),
    /// What everybody may know, of the listings of one organisation or of all.
    Market(Option<String>),
    /// No events.
    Nobody,
}

impl FeedReader {
    /// Returns the reader that these parameters select.
    pub(crate) fn new(caller: &Caller, scope: Scope, organisation: Option<&str>) -> Self {
        let is_readable = |id: &str| caller.admin || caller.acts_for(id);
        match (scope, organisation) {
            (_, Some(id)) if !is_readable(id) => Self::Nobody,
            (Scope::Market, id) => Self::Market(id.map(str::to_owned)),
            (Scope::Own, Some(id)) => Self::Organisation(id.to_owned()),
            (Scope::Own, None) if caller.admin => Self::Admin,
            (Scope::Own, None) => match &caller.organisation {
                Some(own) => Self::Organisation(own.id.clone()),
                None => Self::Nobody,
            },
        }
    }

    /// Returns the organisation whose events are read, if they are those of one.
    pub(crate) fn organisation(&self) -> Option<&str> {
        match self {
            Self::Organisation(id) => Some(id),
            Self::Market(id) => id.as_deref(),
            Self::Admin | Self::Nobody => None,
        }
    }

    pub(crate) fn is_market(&self) -> bool {
        matches!(self, Self::Market(_))
    }

    /// Returns the reader for the news of the feed.
    pub(crate) fn readers(&self) -> Readers {
        let organisations: BTreeSet<_> = self.organisation().map(str::to_owned).into_iter().collect();
        let all = organisations.is_empty() && *self != Self::Nobody;
        Readers { organisations, all, ..Readers::default() }
    }
}

/// A search for events of the feed.
#[derive(Clone, Debug)]
pub(crate) struct FeedSearch {
    pub reader: FeedReader,
    /// Only these types. Empty: all.
    pub types: Vec<FeedEventType>,
    /// Whether events have the listing as it is now.
    pub with_listings: bool,
}

impl FeedSearch {
    /// Returns true if the search finds changes of listings.
    pub(crate) fn finds_changes(&self) -> bool {
        let is_change = |event_type: &FeedEventType| {
            !matches!(event_type, FeedEventType::Matched | FeedEventType::Enquiry)
        };
        self.types.is_empty() || self.types.iter().any(is_change)
    }

    /// Returns true if the search finds enquiries.
    pub(crate) fn finds_enquiries(&self) -> bool {
        !self.reader.is_market() && (self.types.is_empty() || self.types.contains(&FeedEventType::Enquiry))
    }

    /// Returns true if the search finds matches.
    pub(crate) fn finds_matches(&self) -> bool {
        !self.reader.is_market() && (self.types.is_empty() || self.types.contains(&FeedEventType::Matched))
    }

    /// Returns true if the search finds the events of a row.
    pub(crate) fn finds(&self, row: &FeedRow) -> bool {
        let has_type = |event_type| self.types.is_empty() || self.types.contains(&event_type);
        row.event_type.is_some_and(has_type) && (row.is_in_market || !self.reader.is_market())
    }
}

/// The bits of the number of a place that tell the events of a row apart: an organisation cannot have more searches.
const PART_BITS: u32 = 20;

/// A row with events of the feed: a change of a listing, matches, or an enquiry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeedRow {
    pub position: i64,
    pub n: i64,
    pub listing_id: Id,
    /// `None`: the listing is a draft, whose changes are in no feed.
    pub event_type: Option<FeedEventType>,
    /// Whether the market has it: the listing is or was published, and its organisation is not suspended.
    is_in_market: bool,
    /// The number of events.
    count: i64,
}

impl FeedRow {
    /// Returns the row of a change from one status to another.
    pub(crate) fn of_change(
        (position, n, listing_id): (i64, i64, Id),
        from: Option<&str>,
        to: &str,
        is_hidden: bool,
    ) -> Self {
        let active = Status::Active.as_str();
        let event_type = FeedEventType::of_change(from, to);
        let is_in_market = !is_hidden && (to == active || from == Some(active));
        Self { position, n, listing_id, event_type, is_in_market, count: 1 }
    }

    /// Returns the row of this number of matches.
    pub(crate) fn of_matches((position, n, listing_id): (i64, i64, Id), count: i64) -> Self {
        let event_type = Some(FeedEventType::Matched);
        Self { position, n, listing_id, event_type, is_in_market: true, count }
    }

    /// Returns the row of an enquiry.
    pub(crate) fn of_enquiry((position, n, listing_id): (i64, i64, Id)) -> Self {
        let event_type = Some(FeedEventType::Enquiry);
        Self { position, n, listing_id, event_type, is_in_market: true, count: 1 }
    }

    /// Returns the places of the events.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let (position, first) = (self.position, self.n << PART_BITS);
        (0..self.count).map(move |part| Place { position, n: first + part })
    }

    /// Returns the place of the last event.
    pub(crate) fn end(&self) -> Place {
        Place { position: self.position, n: (self.n << PART_BITS) + self.count - 1 }
    }
}

/// Returns the position of the row of an event, its number, and which of its events it is.
pub(crate) fn row_of(place: Place) -> (i64, i64, i64) {
    (place.position, place.n >> PART_BITS, place.n & ((1 << PART_BITS) - 1))
}

/// Returns the last place that a row with this number can have.
pub(crate) fn last_place_number(n: i64) -> i64 {
    (n << PART_BITS) | ((1 << PART_BITS) - 1)
}

/// Returns the id of one of the matches of a row.
pub(crate) fn match_id(row: Id, part: i64) -> Id {
    // Ids of rows end with random bits.
    Id(Uuid::from_u128(row.0.as_u128() ^ u128::from(part.cast_unsigned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_names_of_webhook_events() {
        use FeedEventType::{Closed, Enquiry, Matched, Published, Updated};
        for event_type in [Published, Updated, Closed, Matched, Enquiry] {
            assert_eq!(serde_json::json!(event_type), event_type.name());
        }
    }

    #[test]
    fn the_type_follows_from_the_statuses() {
        for (from, to, event_type, is_in_market) in [
            (None, "draft", None, false),
            (Some("draft"), "draft", None, false),
            (None, "active", Some(FeedEventType::Published), true),
            (Some("draft"), "active", Some(FeedEventType::Published), true),
            (Some("active"), "active", Some(FeedEventType::Updated), true),
            (Some("active"), "sold", Some(FeedEventType::Closed), true),
            (Some("draft"), "cancelled", Some(FeedEventType::Closed), false),
        ] {
            let row = FeedRow::of_change((1, 1, Id::new()), from, to, false);
            assert_eq!((row.event_type, row.is_in_market), (event_type, is_in_market), "{from:?} {to}");
            assert!(!FeedRow::of_change((1, 1, Id::new()), from, to, true).is_in_market);
        }
    }

    #[test]
    fn places_of_a_row_are_its_own() {
        let row = FeedRow::of_matches((7, 3, Id::new()), 2);
        let places: Vec<_> = row.places().collect();
        assert_eq!(places.iter().map(|place| row_of(*place)).collect::<Vec<_>>(), [(7, 3, 0), (7, 3, 1)]);
        assert_eq!(places.last(), Some(&row.end()));
        assert!(row.end().n < last_place_number(3) && last_place_number(3) < 4 << PART_BITS);
        assert_ne!(match_id(Id::NIL, 1), match_id(Id::NIL, 2));
    }
}
