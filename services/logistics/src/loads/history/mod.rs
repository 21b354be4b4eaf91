//! The history of loads (docs/api/loads.md, "History"): an event for each change, in the transaction of the change.

mod changes;
mod model;
mod store;

pub(super) use changes::{Change, Changes, changes};
pub(super) use model::{EventType, LoadEvent, NewEvent, order};
pub(super) use store::{list, record};
