//! Events: they are stored as deliveries in the transaction of the change that they report.

mod model;
mod store;

pub use model::{Event, EventDetails, Subject};
pub(crate) use model::{TEST_EVENT, message, stored_elsewhere};
pub use store::{Emitted, MAX_DELIVERIES, WithDeliveries, emit, emit_many, has_webhook, has_webhook_of_all};
