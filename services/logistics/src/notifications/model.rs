//! Notifications, and the messages that are delivered.

use database::{Id, Timestamp};
use diesel::{Queryable, Selectable};
use outbox::Status;
use serde::Serialize;
use strum::{IntoStaticStr, VariantNames};
use utoipa::ToSchema;

use crate::schema::notifications;

/// The event that a notification reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, IntoStaticStr, VariantNames, ToSchema)]
#[strum(const_into_str)]
pub(crate) enum Event {
    /// A load was sent to its driver.
    #[serde(rename = "load.sent_to_driver")]
    #[strum(serialize = "load.sent_to_driver")]
    SentToDriver,
    /// A load was sent to its carrier.
    #[serde(rename = "load.sent_to_carrier")]
    #[strum(serialize = "load.sent_to_carrier")]
    SentToCarrier,
    /// A load was cancelled.
    #[serde(rename = "load.cancelled")]
    #[strum(serialize = "load.cancelled")]
    Cancelled,
    /// A load was rejected.
    #[serde(rename = "load.rejected")]
    #[strum(serialize = "load.rejected")]
    Rejected,
}

/// An entry of a load's delivery log (docs/api/webhooks.md, "Delivery log").
#[derive(Clone, Debug, Serialize, Queryable, Selectable, ToSchema)]
#[diesel(table_name = notifications)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Notification {
    /// UUIDv7, also sent to receivers as `webhook-id`.
    #[schema(value_type = String, format = Uuid)]
    pub(crate) id: Id,
    /// Id of the load.
    #[schema(value_type = String, format = Uuid)]
    pub(crate) load_id: Id,
    /// The reported event.
    #[schema(value_type = Event)]
    pub(crate) event: String,
    /// Id of the driver or carrier. Empty for `load.cancelled` and `load.rejected`, which go to all
    /// drivers.
    pub(crate) recipient_id: String,
    /// Delivery status.
    #[schema(value_type = Status)]
    pub(crate) status: String,
    /// Delivery attempts so far, including a running one.
    pub(crate) attempts: i32,
    /// Time of creation.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) created_at: Timestamp,
    /// Time at which the receiver acknowledged it.
    #[serde(rename = "deliveredAtUTC", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub(crate) delivered_at: Option<Timestamp>,
}

/// The body of a delivery with the load `L` (docs/api/webhooks.md, "Request").
#[derive(Serialize)]
pub(super) struct Message<'a, L> {
    /// Id of the notification.
    pub(super) id: Id,
    #[serde(rename = "type")]
    pub(super) event: Event,
    /// Time at which the notification was created.
    pub(super) timestamp: Timestamp,
    pub(super) data: MessageData<'a, L>,
}

/// The subject of a delivery.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageData<'a, L> {
    pub(super) notification_id: Id,
    pub(super) load_id: Id,
    #[serde(flatten)]
    pub(super) recipients: Recipients<'a>,
    pub(super) load: &'a L,
}

/// Whom a notification is for.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) enum Recipients<'a> {
    /// The id of a driver or carrier.
    #[serde(rename = "recipientId")]
    One(&'a str),
    /// The ids of all drivers.
    #[serde(rename = "recipientIds")]
    Drivers(&'a [String]),
}

impl<'a> Recipients<'a> {
    /// Returns the recipient as the delivery log shows it.
    pub(super) fn id(self) -> &'a str {
        match self {
            Self::One(id) => id,
            Self::Drivers(_) => "",
        }
    }
}

/// A notification to store, with the load `L`.
pub(crate) struct NewNotification<'a, L> {
    /// Id of the sending organisation, empty for an administrator without one.
    pub(crate) sender_id: &'a str,
    /// The event to report.
    pub(crate) event: Event,
    /// Id of the load.
    pub(crate) load_id: Id,
    /// The load, as receivers get it.
    pub(crate) load: &'a L,
    pub(crate) recipients: Recipients<'a>,
}

/// Returns the message of a redelivery, given the status before it.
pub(crate) fn redelivery_message(previous_status: &str) -> String {
    format!("The notification was {previous_status} and is delivered again.")
}
