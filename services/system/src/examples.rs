//! Ids in the examples of the OpenAPI document. With the setting `server.demo_data` they exist: see `files/demo.rs` and
//! `service_accounts/demo.rs`.
//!
//! One user, who acts for `penybont-farm`, can run every example, in the order of the document, except those of
//! the download by a signed link and of the token endpoint.

/// A weighbridge ticket of that farm.
pub(crate) const FILE: &str = "01955bf1-6c00-7a10-8000-000000000201";
/// A file of that farm that can be archived.
pub(crate) const FILE_TO_ARCHIVE: &str = "01955bf1-6c00-7a10-8000-000000000202";
/// A service account of that farm.
pub(crate) const SERVICE_ACCOUNT: &str = "01955bf1-6c00-7a10-8000-000000000203";
/// A service account of that farm that can be deleted.
pub(crate) const SERVICE_ACCOUNT_TO_DELETE: &str = "01955bf1-6c00-7a10-8000-000000000204";
