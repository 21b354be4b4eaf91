//! Editing listings (`docs/api/listings.md`, "Edit").

mod form;
mod form_validators;
mod model;
pub(crate) mod store;

pub(crate) use form::ListingPatch;
pub(crate) use form_validators::FormValidators;
pub(crate) use model::{Editor, StoredListing};
