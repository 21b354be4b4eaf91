//! The deliveries of webhooks: their channel, the log that organisations read, maintenance and erasure.

mod channel;
mod maintenance;
mod model;
mod personal_data;
pub(crate) mod store;

pub(crate) use channel::Receivers;
pub(crate) use maintenance::{DISABLED, maintain};
pub(crate) use model::WebhookDelivery;
pub use personal_data::{DELIVERY_COPIES, DELIVERY_RECORDS, queue_erasure};
pub use store::held::Held;
