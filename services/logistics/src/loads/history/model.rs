//! Events of loads.

use common::Caller;
use common::history::{Change, Changes};
use database::{Id, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// What happened to a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[schema(as = LoadEventType)]
pub(crate) enum EventType {
    Created,
    Updated,
    Cancelled,
    Collected,
    Completed,
    Corrected,
    Rejected,
    Reopened,
    Accepted,
    SentToDriver,
    SentToCarrier,
    DriverRevoked,
    /// Somebody wrote a note, which changes nothing.
    Noted,
    /// The organisation is no longer the carrier. Only in the feed: the history of the load has the change.
    #[serde(skip)]
    Released,
}

impl EventType {
    /// Returns the event that webhooks get after such a change of a load (docs/api/webhooks.md, "Events"). The creation
    /// is reported by the statement that stores the load.
    pub(crate) fn webhook_event(self) -> Option<&'static str> {
        match self {
            Self::Updated => Some("load.updated"),
            Self::Cancelled => Some("load.cancelled"),
            Self::Collected => Some("load.collected"),
            Self::Completed => Some("load.completed"),
            Self::Corrected => Some("load.corrected"),
            Self::Rejected => Some("load.rejected"),
            Self::Reopened => Some("load.reopened"),
            Self::SentToDriver => Some("load.sent_to_driver"),
            Self::SentToCarrier => Some("load.sent_to_carrier"),
            Self::Accepted => Some("load.accepted"),
            Self::DriverRevoked => Some("load.driver_revoked"),
            Self::Noted => Some("load.noted"),
            Self::Created | Self::Released => None,
        }
    }
}

/// An entry of the history of a load (docs/api/loads.md, "History").
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoadEvent {
    /// UUID.
    #[schema(value_type = String, format = Uuid)]
    pub id: Id,
    /// What happened.
    #[serde(rename = "type")]
    #[schema(value_type = EventType)]
    pub event_type: String,
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
    /// When it happened.
    #[serde(rename = "atUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The reason that the user stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// The text of a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub text: Option<String>,
    /// The changed members by their names in requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<std::collections::BTreeMap<String, Change>>, nullable = false)]
    pub changes: Option<Box<RawValue>>,
}

/// The newest note on a load, in a search that asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewestNote {
    /// UUID: that of the event in the history of the load.
    #[schema(value_type = String, format = Uuid)]
    pub id: Id,
    /// Claim `sub` of the user.
    pub user_id: String,
    /// The name of the user.
    pub user_name: String,
    /// The organisation that the user acted for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub organisation_id: Option<String>,
    /// When it was written.
    #[serde(rename = "atUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The text.
    pub text: String,
}

/// An event to record.
pub(crate) struct NewEvent<'a> {
    /// The id of the load.
    pub load_id: Id,
    pub event_type: EventType,
    /// Who changed the load.
    pub caller: &'a Caller,
    pub reason: Option<&'a str>,
    /// The text of a note.
    pub text: Option<&'a str>,
    pub changes: Changes,
    /// Who reads the event in the feed. `None`: the organiser, the carrier and the creator that the load has now.
    pub audience: Option<Audience<'a>>,
}

/// Who reads an event in the feed, other than the parties and the creator of the load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Audience<'a> {
    /// The revision of the load after the event.
    pub revision: i64,
    pub reference: &'a str,
    pub organiser: Option<&'a str>,
    /// Another organisation.
    pub carrier: Option<&'a str>,
}

impl<'a> NewEvent<'a> {
    /// Creates an event without reason, text and changes.
    pub(crate) fn new(load_id: Id, event_type: EventType, caller: &'a Caller) -> Self {
        Self {
            load_id,
            event_type,
            caller,
            reason: None,
            text: None,
            changes: Changes::new(),
            audience: None,
        }
    }
}
