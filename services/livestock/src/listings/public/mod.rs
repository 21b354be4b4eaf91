//! Active listings as visitors without a token see them, if the deployment shows them (docs/api/listings.md, "Public
//! listings").

mod model;
mod parameters;
pub(super) mod store;

pub(super) use model::{PublicListing, page_of_public_listings};
pub(super) use parameters::PublicSearchParams;
