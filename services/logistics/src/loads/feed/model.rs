//! Events of loads as the feed shows them, and who reads them.

use std::collections::BTreeSet;

use common::Caller;
use common::feed::Readers;
use common::history::Change;
use database::{Id, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use strum::{EnumIter, IntoEnumIterator};
use utoipa::ToSchema;

use crate::loads::Load;

/// What happened to a load.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, EnumIter, strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case", prefix = "load.")]
#[schema(as = LoadFeedEventType)]
pub(crate) enum FeedEventType {
    #[serde(rename = "load.created")]
    Created,
    #[serde(rename = "load.updated")]
    Updated,
    #[serde(rename = "load.cancelled")]
    Cancelled,
    #[serde(rename = "load.collected")]
    Collected,
    #[serde(rename = "load.completed")]
    Completed,
    #[serde(rename = "load.corrected")]
    Corrected,
    #[serde(rename = "load.rejected")]
    Rejected,
    #[serde(rename = "load.reopened")]
    Reopened,
    #[serde(rename = "load.accepted")]
    Accepted,
    #[serde(rename = "load.sent_to_driver")]
    SentToDriver,
    #[serde(rename = "load.sent_to_carrier")]
    SentToCarrier,
    #[serde(rename = "load.driver_revoked")]
    DriverRevoked,
    #[serde(rename = "load.noted")]
    Noted,
    #[serde(rename = "load.released")]
    Released,
}

impl FeedEventType {
    /// Returns the type of a stored event.
    pub(crate) fn of_stored(name: &str) -> Option<Self> {
        Self::iter().find(|event_type| event_type.stored() == name)
    }

    /// Returns the name in responses.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the name in the table.
    pub(crate) fn stored(self) -> &'static str {
        let name = self.name();
        name.strip_prefix("load.").unwrap_or(name)
    }
}

/// An event of the feed (docs/api/events.md).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FeedLoadEvent {
    /// UUID: that of the event in the history of the load.
    #[schema(value_type = String, format = Uuid)]
    pub id: Id,
    /// What happened.
    #[serde(rename = "type")]
    pub event_type: FeedEventType,
    /// When it happened.
    #[serde(rename = "atUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The load.
    #[schema(value_type = String, format = Uuid)]
    pub load_id: Id,
    /// The reference of the load after the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reference: Option<String>,
    /// The revision of the load after the event.
    pub revision: i64,
    /// Claim `sub` of the user. Absent if an earlier release made the change and did not record the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub user_id: Option<String>,
    /// The name of the user. Absent like `userId`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub user_name: Option<String>,
    /// The organisation that the user acted for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub organisation_id: Option<String>,
    /// The reason that the user stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// The text of a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub text: Option<String>,
    /// The changed members by their names in requests. Absent for drivers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<std::collections::BTreeMap<String, Change>>, nullable = false)]
    pub changes: Option<Box<RawValue>>,
    /// The driver to whom the load was sent, or who was revoked. A driver reads only the own id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub driver_id: Option<String>,
    /// The carrier to which the load was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub carrier_id: Option<String>,
    /// With `include=resource`: the load as it is now, if the caller may still read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Load>, nullable = false)]
    pub load: Option<Box<RawValue>>,
}

/// A page of the feed.
#[derive(ToSchema)]
#[schema(as = LoadFeedPage)]
#[expect(dead_code, reason = "describes the body, which is built from the documents of events")]
pub(crate) struct FeedPageBody {
    /// Oldest first.
    events: Vec<FeedLoadEvent>,
    /// Where the next page begins: parameter `after`.
    cursor: String,
    /// Whether the next page may have events already.
    more: bool,
}

/// Who reads the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FeedReader {
    /// All events.
    Admin,
    /// Those of an organisation. `None`: nobody, so no events.
    Organisation(Option<String>),
    /// Those of the loads that were sent to the caller, a driver.
    Driver(String),
}

impl FeedReader {
    /// Returns the reader that these parameters select: the events of an organisation, or those of the caller as
    /// driver.
    pub(crate) fn new(caller: &Caller, organisation: Option<&str>, as_driver: bool) -> Self {
        let own = || caller.organisation.as_ref().map(|own| own.id.clone());
        match organisation {
            Some(id) if !caller.admin && !caller.acts_for(id) => Self::Organisation(None),
            _ if as_driver => Self::Driver(caller.user_id.clone()),
            Some(id) => Self::Organisation(Some(id.to_owned())),
            None if caller.admin => Self::Admin,
            None => Self::Organisation(own()),
        }
    }

    /// Returns the reader for the news of the feed.
    pub(crate) fn readers(&self) -> Readers {
        match self {
            Self::Admin => Readers { all: true, ..Readers::default() },
            Self::Organisation(id) => {
                Readers { organisations: id.iter().cloned().collect(), ..Readers::default() }
            }
            Self::Driver(id) => Readers { users: BTreeSet::from([id.clone()]), ..Readers::default() },
        }
    }
}

/// A search for events of the feed.
#[derive(Clone, Debug)]
pub(crate) struct FeedSearch {
    pub reader: FeedReader,
    /// Only these types. Empty: all.
    pub types: Vec<FeedEventType>,
    /// Whether events have the load as it is now.
    pub with_loads: bool,
}
