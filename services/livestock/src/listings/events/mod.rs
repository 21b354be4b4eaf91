//! The history of a listing's status, for admins. `listings/store.rs` writes an event with every change.

mod model;
pub(crate) mod store;

pub(crate) use model::ListingEvent;
