//! The history of listings (`docs/api/listings.md`, "History"): an event for each change, in its transaction.

mod model;
pub(crate) mod store;

pub(crate) use model::{Actor, ListingEvent, NewEvent};
