//! Notifications of drivers and carriers: stored with the load that is sent, delivered afterwards, at least once
//! (docs/api/webhooks.md). The organisations that send loads take turns in delivery ([`outbox`]).

mod channel;
mod command;
mod handlers;
mod model;
mod store;

pub(crate) use channel::{Channel, register_metrics};
pub(crate) use command::{command, run};
pub(crate) use handlers::routes;
pub(crate) use model::{Event, NewNotification, Notification, Recipients};
pub(crate) use store::{create, create_with_id, drop_pending, list, was_sent_before};

/// Delivers notifications.
pub(crate) type Dispatcher = outbox::Dispatcher<Channel>;
