//! Wishlists: listings that users follow whatever their status. The search shows them (`isWishlisted`).

mod handlers;
mod store;

pub(crate) use handlers::routes;
