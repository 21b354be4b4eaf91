//! The history of loads (docs/api/loads.md, "History"): an event for each change, in the transaction of the change.

mod model;
mod store;

pub(super) use common::history::{Change, Changes, order};
pub(super) use model::{EventType, LoadEvent, NewEvent};
pub(super) use store::{CarrierSince, added_files, carrier_since, list, record, senders};
