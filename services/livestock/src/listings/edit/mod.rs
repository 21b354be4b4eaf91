//! Editing listings (`docs/api/listings.md`, "Edit").

mod form;
mod model;

pub(crate) use form::{FormValidators, ListingPatch};
pub(crate) use model::{Editor, StoredListing};
