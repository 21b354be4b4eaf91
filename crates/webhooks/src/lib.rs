//! Outgoing webhooks, one implementation for all services: requests to receivers ([`sending`]), and the webhooks
//! that organisations register (docs/api/webhooks.md), which an [`outbox`] delivers.
//!
//! A service opens [`Webhooks`], adds the routes, the migrations and the description, and calls [`emit`] in the
//! transaction of each change that its organisations can subscribe to.

#![warn(unreachable_pub)]

mod delivery;
mod demo;
mod documentation;
mod event;
mod examples;
mod handlers;
mod schema;
pub mod sending;
mod state;
mod webhook;

pub use delivery::{DELIVERY_COPIES, DELIVERY_RECORDS, Held, queue_erasure};
pub use documentation::{DataSchema, EventDescription, describe};
pub use event::{
    Emitted, Event, EventDetails, MAX_DELIVERIES, Subject, WithDeliveries, emit, emit_many, has_webhook,
    has_webhook_of_all,
};
pub use handlers::routes;
pub use schema::migrations;
pub use state::{WebhookOptions, Webhooks, register_metrics};
