//! Transactional outboxes and their delivery.
//!
//! A change stores its messages in its own transaction. A background task of each replica ([`dispatch`]) claims due
//! messages for a lease, delivers them and records the outcomes. If a replica dies in between, the lease expires and
//! the message is delivered again with the same id, by which receivers recognise the repeat. The groups of messages
//! take turns ([`claim`]), and none holds more than its slots.

mod channel;
mod claim;
mod dispatch;
mod metrics;
mod model;
mod prune;
mod store;

pub use channel::Channel;
pub use dispatch::{DeliveryOptions, Dispatcher};
pub use metrics::OutboxMetrics;
pub(crate) use model::unclaimed;
pub use model::{Backlog, Claimed, Failure, Outbox, Outcome, ReadBodies, Status};
pub use store::redeliver;
