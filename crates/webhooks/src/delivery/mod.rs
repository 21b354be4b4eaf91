//! The deliveries of webhooks: their channel, the log that organisations read, maintenance and erasure.

mod channel;
mod maintenance;
mod personal_data;
pub(crate) mod store;

use common::Error;
use database::{Id, Json, Timestamp};
use diesel::{Queryable, Selectable};
use outbox::{Status, Try};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::schema::webhook_deliveries;
pub(crate) use channel::Receivers;
pub(crate) use maintenance::{DISABLED, maintain};
pub use personal_data::{DELIVERY_COPIES, DELIVERY_RECORDS, queue_erasure};
pub use store::held::Held;

/// A delivery of an event to a webhook.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WebhookDelivery {
    /// The id of the event, which receivers get as `webhook-id`. Another webhook gets the same event with the same id.
    #[schema(value_type = String, format = Uuid)]
    pub(crate) id: Id,
    /// The name of the event.
    pub(crate) event: String,
    /// The load that the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Uuid, nullable = false)]
    pub(crate) load_id: Option<Id>,
    /// The listing that the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Uuid, nullable = false)]
    pub(crate) listing_id: Option<Id>,
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

/// A stored delivery.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = webhook_deliveries)]
struct DeliveryRow {
    id: Id,
    event: String,
    status: String,
    attempts: i32,
    created_at: Timestamp,
    delivered_at: Option<Timestamp>,
    last_error: Option<String>,
    subject_id: Option<Id>,
}

impl DeliveryRow {
    fn delivery(self) -> WebhookDelivery {
        let subject = |prefix: &str| self.subject_id.filter(|_| self.event.starts_with(prefix));
        WebhookDelivery {
            id: self.id,
            load_id: subject("load."),
            listing_id: subject("listing."),
            event: self.event,
            status: self.status,
            attempts: self.attempts,
            created_at: self.created_at,
            delivered_at: self.delivered_at,
            last_error: self.last_error,
        }
    }
}

/// A delivery with its body and its attempts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookDeliveryDetails {
    #[serde(flatten)]
    pub(crate) delivery: WebhookDelivery,
    /// The body of the request. Absent once it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    pub(crate) body: Option<Box<RawValue>>,
    /// The last 10 attempts, oldest first, also those before a redelivery. Earlier releases recorded none.
    pub(crate) tries: Vec<Try>,
}

impl WebhookDeliveryDetails {
    fn new(delivery: WebhookDelivery, body: Option<Json>, tries: Option<String>) -> Result<Self, Error> {
        let body = body.map(|body| RawValue::from_string(body.0)).transpose()?;
        let tries = tries.map(|tries| Json(tries).parse()).transpose()?.unwrap_or_default();
        Ok(Self { delivery, body, tries })
    }
}
