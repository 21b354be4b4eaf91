//! Events and their messages (docs/api/webhooks.md, "Request"). They are stored as deliveries in the transaction of the
//! change that they report.

mod store;

use common::Error;
use database::{Id, Json, Timestamp};
use outbox::unclaimed;
use serde::Serialize;
use serde_json::{Value, json};

pub use store::{Emitted, MAX_DELIVERIES, WithDeliveries, emit, emit_many, has_webhook, has_webhook_of_all};

/// The event of a test.
pub(crate) const TEST_EVENT: &str = "webhook.test";

/// The resource that an event is about, and the organisations whose webhooks get it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Ids of organisations. An empty text is none.
    pub organisations: [&'a str; 2],
    /// Whether the webhooks for the events of all organisations get it. False if they get another event of the change.
    pub reaches_all: bool,
    /// The organisation whose act caused the event; an empty text without one. Causes take turns in the deliveries to
    /// a webhook.
    pub cause: &'a str,
    /// The id of the resource.
    pub id: Id,
    /// The resource after the change, as JSON.
    pub document: &'a Json,
    /// Further members of `data`, which come before the resource: JSON, with a comma after each member.
    pub details: &'a str,
    /// The users whom the event names: who caused it, or whose saved searches it is about. Each once.
    pub users: &'a [&'a str],
}

/// The members of `data` that say who caused an event and what it changed. Absent ones are left out.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventDetails<'a> {
    /// Claim `sub` of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<&'a str>,
    /// The organisation that the user acted for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organisation_id: Option<&'a str>,
    /// The changed members by their names in requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Value>,
    /// The driver to whom a load was sent, or who was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_id: Option<&'a str>,
    /// The carrier to which a load was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier_id: Option<&'a str>,
    /// The text of a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
}

impl EventDetails<'_> {
    /// Returns the members as [`Subject::details`].
    ///
    /// # Errors
    /// If they cannot be serialized.
    pub fn members(&self) -> Result<String, Error> {
        let mut members = Json::of(self)?.0.split_off(1);
        members.pop();
        if !members.is_empty() {
            members.push(',');
        }
        Ok(members)
    }
}

/// An event to report.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The name, such as `load.created`.
    pub name: &'static str,
    /// The member of `data` with the resource.
    pub member: &'static str,
    /// The resource.
    pub subject: Subject<'a>,
}

/// An event with its id and time, and the JSON text around the resource.
pub(super) struct NewMessage<'a> {
    pub(super) id: Id,
    pub(super) at: Timestamp,
    pub(super) event: Event<'a>,
    /// The text before the resource.
    pub(super) head: String,
    /// The name as it stands in the column `events`.
    pub(super) quoted_name: String,
    /// The length of the body.
    pub(super) bytes: i64,
    /// The `claimed_until` of the deliveries.
    pub(super) unclaimed: Timestamp,
}

impl<'a> NewMessage<'a> {
    /// The text after the resource.
    pub(super) const TAIL: &'static str = "}}";

    /// Gives an event its id and time.
    pub(super) fn new(event: Event<'a>) -> Self {
        let (id, at) = (Id::new(), Timestamp::now());
        let Event { name, member, subject } = event;
        let details = subject.details;
        let head = format!(
            "{{\"id\":\"{id}\",\"type\":\"{name}\",\"timestamp\":\"{at}\",\"data\":{{{details}\"{member}\":"
        );
        let bytes = head.len() + subject.document.0.len() + Self::TAIL.len();
        Self {
            id,
            at,
            event,
            head,
            quoted_name: format!("\"{name}\""),
            bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
            unclaimed: unclaimed(),
        }
    }

    /// Returns the body of the deliveries.
    pub(super) fn body(&self) -> Json {
        Json(format!("{}{}{}", self.head, self.event.subject.document.0, Self::TAIL))
    }
}

/// Returns the placeholder in the column `body` of a delivery whose body is a row of `webhook_messages`.
pub(crate) fn stored_elsewhere() -> Json {
    Json("null".to_owned())
}

/// Returns the body of a delivery with this data.
pub(crate) fn message(id: Id, name: &str, at: Timestamp, data: &serde_json::Value) -> Json {
    Json(json!({ "id": id, "type": name, "timestamp": at, "data": data }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject<'a>(document: &'a Json, details: &'a str) -> Subject<'a> {
        let organisations = ["grain", ""];
        Subject {
            organisations,
            reaches_all: true,
            cause: "farm",
            id: Id::NIL,
            document,
            details,
            users: &[],
        }
    }

    #[test]
    fn absent_details_are_no_members() {
        assert_eq!(EventDetails::default().members().unwrap(), "");
        let changes = Some(json!({"weight": {"to": 1}}));
        let details = EventDetails { changes, driver_id: Some("dai"), ..EventDetails::default() };
        assert_eq!(details.members().unwrap(), r#""changes":{"weight":{"to":1}},"driverId":"dai","#);
    }

    #[test]
    fn the_body_is_the_message_with_the_document_unchanged() {
        let document = Json(r#"{"weight":29.40}"#.to_owned());
        let subject = subject(&document, "");
        let new = NewMessage::new(Event { name: "load.created", member: "load", subject });
        let body = new.body().0;
        assert!(body.ends_with(r#""data":{"load":{"weight":29.40}}}"#), "{body}");
        assert_eq!(usize::try_from(new.bytes).unwrap(), body.len());
        let parsed: serde_json::Value = serde_json::from_str(&body).unwrap();
        let whole = message(new.id, "load.created", new.at, &json!({"load": {"weight": 29.4}}));
        assert_eq!(parsed, serde_json::from_str::<serde_json::Value>(&whole.0).unwrap());
    }

    #[test]
    fn details_come_before_the_document() {
        let document = Json(r#"{"price":1.50}"#.to_owned());
        let details = EventDetails { user_id: Some("o'neil"), ..EventDetails::default() }.members().unwrap();
        let subject = subject(&document, &details);
        let new = NewMessage::new(Event { name: "listing.matched", member: "listing", subject });
        let body = new.body().0;
        assert!(body.ends_with(r#","listing":{"price":1.50}}}"#), "{body}");
        let parsed: serde_json::Value = serde_json::from_str(&body).unwrap();
        let data = json!({"userId": "o'neil", "listing": {"price": 1.5}});
        assert_eq!(parsed["data"], data);
    }
}
