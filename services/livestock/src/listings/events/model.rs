//! Events of listings.

use common::Caller;
use common::history::{Change, Changes};
use database::{Id, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::listings::model::{Listing, Status};

/// What happened to a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ListingEventType)]
pub(crate) enum EventType {
    Created,
    Updated,
    Published,
    Closed,
}

impl EventType {
    /// Returns the type of an event that has these statuses before and after.
    pub(crate) fn of(from: Option<&str>, to: &str) -> Self {
        match from {
            None => Self::Created,
            Some(from) if from == to => Self::Updated,
            Some(_) if to == Status::Active.as_str() => Self::Published,
            Some(_) => Self::Closed,
        }
    }

    /// Returns the id of an event that an older version wrote without one: the listing's id, with other last bits for
    /// each type. Such a listing has at most one event of each type.
    pub(crate) fn id_without_column(self, listing: Id) -> Id {
        match self {
            Self::Created => listing,
            Self::Published => listing.variant(1),
            Self::Closed => listing.variant(2),
            Self::Updated => listing.variant(3),
        }
    }
}

/// An entry of the history of a listing (docs/api/listings.md, "History").
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListingEvent {
    /// UUID.
    #[schema(value_type = String, format = Uuid)]
    pub id: Id,
    /// What happened.
    #[serde(rename = "type")]
    pub event_type: EventType,
    /// The previous status; absent if the listing was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Status, required = false)]
    pub from: Option<String>,
    /// The status after the change, which is the previous one if the listing was edited.
    #[schema(value_type = Status)]
    pub to: String,
    /// Claim `sub` of the user who made the change.
    pub user_id: String,
    /// The name of the user. Absent if an earlier release made the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub user_name: Option<String>,
    /// The organisation that the user acted for. Absent also if an earlier release made the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub organisation_id: Option<String>,
    /// When the change was made.
    #[serde(rename = "atUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The status that the closing request named, or `moderation` if `admin` removed the listing because of a report;
    /// absent unless the listing was closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// The changed members by their names in requests; absent unless the listing was edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<std::collections::BTreeMap<String, Change>>, nullable = false)]
    pub changes: Option<Box<RawValue>>,
}

/// The user who changes a listing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Actor<'a> {
    /// Claim `sub`.
    pub user_id: &'a str,
    /// Claim `name`; `None` if it is not known.
    pub user_name: Option<&'a str>,
    /// The organisation that the user acts for.
    pub organisation_id: Option<&'a str>,
}

impl<'a> Actor<'a> {
    /// Returns the caller.
    pub(crate) fn of(caller: &'a Caller) -> Self {
        Self {
            user_id: &caller.user_id,
            user_name: Some(&caller.user_name),
            organisation_id: caller.organisation.as_ref().map(|organisation| organisation.id.as_str()),
        }
    }

    /// Returns the user who created a listing. The listing does not have the user's name.
    pub(crate) fn creator(listing: &'a Listing) -> Self {
        Self { user_id: &listing.user_id, user_name: None, organisation_id: Some(&listing.organisation_id) }
    }
}

/// An event to record.
#[derive(Debug)]
pub(crate) struct NewEvent<'a> {
    /// The listing after the change.
    pub listing: &'a Listing,
    /// The revision of the listing after the change.
    pub revision: i64,
    /// The status before the change; `None` if the listing was created.
    pub from: Option<Status>,
    /// Who made the change.
    pub actor: Actor<'a>,
    pub reason: Option<&'a str>,
    pub changes: Changes,
}

impl<'a> NewEvent<'a> {
    /// Creates an event without reason and changes.
    pub(crate) fn new(listing: &'a Listing, revision: i64, from: Option<Status>, actor: Actor<'a>) -> Self {
        Self { listing, revision, from, actor, reason: None, changes: Changes::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_follows_from_the_statuses() {
        for (from, to, event_type) in [
            (None, "draft", EventType::Created),
            (None, "active", EventType::Created),
            (Some("draft"), "draft", EventType::Updated),
            (Some("active"), "active", EventType::Updated),
            (Some("draft"), "active", EventType::Published),
            (Some("draft"), "cancelled", EventType::Closed),
            (Some("active"), "sold", EventType::Closed),
        ] {
            assert_eq!(EventType::of(from, to), event_type, "{from:?} {to}");
        }
    }

    #[test]
    fn events_of_older_versions_have_different_ids() {
        let listing = Id::new();
        let types = [EventType::Created, EventType::Updated, EventType::Published, EventType::Closed];
        let mut ids = types.map(|event_type| event_type.id_without_column(listing)).to_vec();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), types.len());
    }
}
