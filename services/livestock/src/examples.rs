//! Ids in the examples of the OpenAPI document. With the setting `server.demo_data` they exist: see `listings/demo.rs`
//! and `saved_searches/demo.rs`.
//!
//! One user, who acts for `penybont-farm`, can run every example, in the order of the document.

/// An active listing of that farm: Hereford cattle.
pub(crate) const LISTING: &str = "01955bf1-6c00-7a10-8000-000000000101";
/// An active listing of that farm that can be closed.
pub(crate) const LISTING_TO_CLOSE: &str = "01955bf1-6c00-7a10-8000-000000000102";
/// A draft of that farm.
pub(crate) const DRAFT: &str = "01955bf1-6c00-7a10-8000-000000000103";
/// A saved search.
pub(crate) const SAVED_SEARCH: &str = "01955bf1-6c00-7a40-8000-000000000001";
/// A saved search that can be deleted.
pub(crate) const SAVED_SEARCH_TO_DELETE: &str = "01955bf1-6c00-7a40-8000-000000000002";
/// An active listing of another farm.
pub(crate) const FOREIGN_LISTING: &str = "01955bf1-6c00-7a10-8000-000000000104";
/// An organisation without listings.
pub(crate) const ORGANISATION: &str = "empty-farm";
/// An enquiry about [`LISTING`].
pub(crate) const ENQUIRY: &str = "01955bf1-6c00-7a50-8000-000000000001";
/// An open report of that listing, by a third user.
pub(crate) const REPORT: &str = "01955bf1-6c00-7a10-8000-000000000111";
