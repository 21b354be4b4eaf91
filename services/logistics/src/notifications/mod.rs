//! Telling drivers and carriers of loads: recorded with what is told, delivered afterwards, at least once.
//!
//! A send operation writes a row in its own transaction and answers (the outbox). A background task of each replica
//! ([`dispatch`]) claims rows that are due for a while (a lease), delivers them and records how that went. If it dies
//! in between the lease runs out, and the event goes out again under the same id: receivers drop what they had.
//! Organisations take turns ([`claim`]), and none holds more than half of the slots.

mod api;
mod claim;
mod dispatch;
mod model;
mod prune;
mod redeliver;
mod send;
mod sign;
mod ssrf;
mod store;
mod webhook;

use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) use dispatch::Dispatcher;
pub(crate) use model::Event;
pub(crate) use redeliver::{command, run};
pub(crate) use webhook::Channel;

pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(send::send_to_driver)
        .service(send::send_to_carrier)
        .service(redeliver::redeliver)
        .service(api::list);
}
