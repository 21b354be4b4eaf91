//! The deliveries of webhooks: their channel, the log that organisations read, maintenance and erasure.

mod channel;
mod maintenance;
mod personal_data;
pub(crate) mod store;

use database::{Id, Timestamp};
use diesel::{Queryable, Selectable};
use outbox::Status;
use serde::Serialize;
use utoipa::ToSchema;

use crate::schema::webhook_deliveries;
pub(crate) use channel::Receivers;
pub(crate) use maintenance::{DISABLED, maintain};
pub use personal_data::{DELIVERY_COPIES, DELIVERY_RECORDS, queue_erasure};
pub use store::held::Held;

/// A delivery of an event to a webhook.
#[derive(Clone, Debug, Serialize, Queryable, Selectable, ToSchema)]
#[diesel(table_name = webhook_deliveries)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WebhookDelivery {
    /// The id of the event, which receivers get as `webhook-id`. Another webhook gets the same event with the same id.
    #[schema(value_type = String, format = Uuid)]
    pub(crate) id: Id,
    /// The name of the event.
    pub(crate) event: String,
    /// Delivery status.
    #[schema(value_type = Status)]
    pub(crate) status: String,
    /// Delivery attempts so far, including a running one.
    pub(crate) attempts: i32,
    /// Time of the event.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) created_at: Timestamp,
    /// Time at which the receiver acknowledged it.
    #[serde(rename = "deliveredAtUTC", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub(crate) delivered_at: Option<Timestamp>,
    /// Why the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) last_error: Option<String>,
}
