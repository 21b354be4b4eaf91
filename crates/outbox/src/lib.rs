//! Transactional outboxes and their delivery.
//!
//! A change stores its messages in its own transaction. A background task of each replica ([`Dispatcher`]) claims due
//! messages for a lease, delivers them and records the outcomes. If a replica dies in between, the lease expires and
//! the message is delivered again with the same id, by which receivers recognise the repeat. The groups of messages
//! take turns, and none holds more than its slots.

#![warn(unreachable_pub)]

mod claim;
mod dispatch;
mod metrics;
mod model;
mod slots;
mod store;

pub use dispatch::{Channel, DeliveryOptions, Dispatcher};
pub use metrics::OutboxMetrics;
pub use model::{Backlog, Claimed, Failure, Outbox, Outcome, ReadBodies, Status, Try, unclaimed};
pub use store::redeliver;
