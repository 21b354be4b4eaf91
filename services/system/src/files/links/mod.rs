//! Signed links: downloads without a token (`docs/api/files.md`, "Links").
//!
//! A link states the file, the width, the time until which it is valid and who made it, and a signature over these by a
//! key that only this service has. The keys are in the database, so replicas share them, and each request reads the one
//! it needs. A replica therefore never signs with a key that another one has replaced, nor refuses a link of a new key.

mod form;
mod keys;
mod link;
mod maker;
mod model;
mod parameters;
mod store;

pub(super) use form::{LinkForm, LinksForm};
pub(super) use keys::signing_key;
pub(crate) use keys::{create_first_key, replace_key};
pub(super) use link::{INVALID_LINK, LinkTarget, SignedLink};
pub(super) use maker::{Maker, tag};
pub(super) use model::LinkKey;
pub(super) use parameters::LinkParams;
pub(super) use store::find_key;
