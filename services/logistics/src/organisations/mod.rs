//! Organisations, as far as others deal with them: the block list (docs/api/loads.md, "Block list").

mod handlers;
mod store;

pub(crate) use handlers::routes;
pub(crate) use store::{BlockedOrganisation, NamedBy, check_not_blocked, find_blocked, list as list_blocked};
