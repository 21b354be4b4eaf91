//! Suspended organisations (`docs/api/listings.md`, "Suspension"): their active listings are found and read by nobody
//! else meanwhile.

mod handlers;
mod store;

pub(crate) use handlers::routes;
pub(crate) use store::{any_suspended, check_not_suspended, is_suspended, list_suspended};
