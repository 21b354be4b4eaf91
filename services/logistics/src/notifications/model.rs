//! Notifications, the messages that are delivered, and the rules of sending a load.

use std::time::Duration;

use common::{Caller, Error};
use database::{Id, Json, Timestamp};
use diesel::{Queryable, Selectable};
use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::loads::{self, Load, Party, parties};
use crate::schema::notifications;

/// The event that a notification reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, IntoStaticStr, VariantArray, ToSchema)]
#[strum(const_into_str)]
pub enum Event {
    /// A load was sent to its driver.
    #[serde(rename = "load.sent_to_driver")]
    #[strum(serialize = "load.sent_to_driver")]
    SentToDriver,
    /// A load was sent to its carrier.
    #[serde(rename = "load.sent_to_carrier")]
    #[strum(serialize = "load.sent_to_carrier")]
    SentToCarrier,
}

/// The delivery status of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, IntoStaticStr, ToSchema)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase", const_into_str)]
#[schema(as = NotificationStatus)]
pub enum Status {
    /// Waits for its first attempt or a retry.
    Pending,
    /// The receiver acknowledged it.
    Delivered,
    /// All attempts failed. It can be redelivered.
    Failed,
}

/// An entry of a load's delivery log (docs/api/webhooks.md, "Delivery log").
#[derive(Clone, Debug, Serialize, Queryable, Selectable, ToSchema)]
#[diesel(table_name = notifications)]
#[serde(rename_all = "camelCase")]
pub struct Notification {
    /// UUIDv7, also sent to receivers as `webhook-id`.
    #[schema(value_type = String, format = Uuid)]
    pub id: Id,
    /// The reported event.
    #[schema(value_type = Event)]
    pub event: String,
    /// Id of the driver or carrier.
    pub recipient_id: String,
    /// Delivery status.
    #[schema(value_type = Status)]
    pub status: String,
    /// Delivery attempts so far, including a running one.
    pub attempts: i32,
    /// Time of creation.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Time at which the receiver acknowledged it.
    #[serde(rename = "deliveredAtUTC", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub delivered_at: Option<Timestamp>,
}

/// The body of a delivery (docs/api/webhooks.md, "Request").
#[derive(Serialize)]
pub struct Message<'a> {
    pub id: Id,
    #[serde(rename = "type")]
    pub event: Event,
    pub timestamp: Timestamp,
    pub data: MessageData<'a>,
}

/// The subject of a delivery.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageData<'a> {
    pub notification_id: Id,
    pub load_id: Id,
    pub recipient_id: &'a str,
    pub load: &'a Load,
}

/// A notification to store.
pub struct NewNotification<'a> {
    /// Id of the sending organisation, empty for an administrator without one.
    pub sender_id: &'a str,
    pub event: Event,
    pub load: &'a Load,
    pub recipient_id: &'a str,
}

/// A notification that this replica alone delivers until its lease expires.
#[derive(Clone, Debug, Queryable)]
pub struct Claimed {
    pub id: Id,
    pub load_id: Id,
    /// Id of the sending organisation, empty for an administrator without one.
    pub organisation_id: String,
    pub event: String,
    /// Delivery attempts, including this one.
    pub attempts: i32,
    /// End of the lease. Identifies the claim.
    pub until: Option<Timestamp>,
    pub body: Json,
}

/// The outcome of a delivery attempt.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The receiver acknowledged the notification.
    Delivered,
    /// The attempt failed with this reason. The next one follows after this backoff.
    Retried(Duration, String),
    /// The last attempt failed with this reason.
    Failed(String),
}

/// The notifications that are pending.
#[derive(Debug)]
pub struct Backlog {
    pub pending: i64,
    /// Time for which the oldest one has been pending.
    pub oldest: Option<Duration>,
}

/// The recipient of a load.
#[derive(Clone, Debug)]
pub enum Recipient {
    /// Claim `sub` of the driver.
    Driver(String),
    /// The organisation that carries the load.
    Carrier { id: String, name: String },
}

impl Recipient {
    /// Returns the id of the driver or organisation.
    pub fn id(&self) -> &str {
        match self {
            Self::Driver(id) | Self::Carrier { id, .. } => id,
        }
    }

    /// Returns the event of sending a load to this recipient.
    pub fn event(&self) -> Event {
        match self {
            Self::Driver(_) => Event::SentToDriver,
            Self::Carrier { .. } => Event::SentToCarrier,
        }
    }

    /// Makes a receiving carrier the carrier of a load without one. Returns whether the load changed.
    ///
    /// # Errors
    /// 409 if the load is completed or has another carrier.
    pub fn assign_to(&self, load: &mut Load) -> Result<bool, Error> {
        if load.status == loads::Status::Completed {
            return Err(Error::conflict("This load is completed."));
        }
        let Self::Carrier { id, name } = self else { return Ok(false) };
        match load.carrier.as_ref().and_then(|carrier| carrier.id.as_ref()) {
            Some(carrier) if carrier == id => Ok(false),
            Some(_) => Err(Error::conflict("This load is carried by another organisation.")),
            None => {
                load.carrier = Some(Party { id: Some(id.clone()), name: name.clone() });
                Ok(true)
            }
        }
    }
}

/// Returns whether the load may have files that the caller may share with its carrier: those of a party other than the
/// carrier itself.
pub fn may_share_files_with_carrier(caller: &Caller, load: &Load) -> bool {
    let recipients = parties(None, load.carrier.as_ref());
    let may_share = |owner: &&str| !recipients.contains(owner) && (caller.admin || caller.acts_for(owner));
    !recipients.is_empty() && load.file_owners().iter().any(may_share)
}

/// Returns the message of a redelivery, given the status before it.
pub fn redelivery_message(previous_status: &str) -> String {
    format!("The notification was {previous_status} and is delivered again.")
}
