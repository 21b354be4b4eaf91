//! Ids in the examples of the OpenAPI document. With the setting `server.demo_data` they exist: see `demo.rs`.
//!
//! One user, who acts for `penybont-farm`, can run every example, in the order of the document.

/// A webhook.
pub(crate) const WEBHOOK: &str = "01955bf1-6c00-7a30-8000-000000000001";
/// A webhook that can be deleted.
pub(crate) const WEBHOOK_TO_DELETE: &str = "01955bf1-6c00-7a30-8000-000000000002";
/// A delivery of [`WEBHOOK`].
pub(crate) const DELIVERY: &str = "01955bf1-6c00-7a30-8000-000000000003";
