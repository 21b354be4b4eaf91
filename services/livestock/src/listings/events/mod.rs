//! The history of a listing's status, for admins. `listings/store.rs` writes an event with every change.

mod model;
pub mod store;

pub use model::ListingEvent;
