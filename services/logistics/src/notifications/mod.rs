//! Notifications of drivers and carriers: stored with the load that is sent, delivered afterwards, at least once
//! (docs/api/webhooks.md).
//!
//! Sending a load stores a notification in its own transaction (transactional outbox). A background task
//! of each replica ([`dispatch`]) claims due notifications for a lease, delivers them and records the outcomes. If a
//! replica dies in between, the lease expires and the notification is delivered again with the same id, by which
//! receivers recognise the repeat. Organisations take turns ([`claim`]), and none holds more than half of the slots.

mod claim;
mod command;
mod dispatch;
mod handlers;
mod metrics;
mod model;
mod prune;
mod sign;
mod ssrf;
mod store;
mod webhook;

pub(crate) use command::{command, run};
pub(crate) use dispatch::Dispatcher;
pub(crate) use handlers::routes;
pub(crate) use metrics::{register_metrics, report_backlog};
pub(crate) use model::{Event, NewNotification, Notification};
pub(crate) use prune::prune_periodically;
pub(crate) use store::{create, create_with_id, drop_pending_of_driver, list};
pub(crate) use webhook::Channel;
