//! Ids in the examples of the OpenAPI document. With the setting `server.demo_data` they exist: see `loads/demo.rs`.
//!
//! One user, who acts for `penybont-farm`, can run every example, in the order of the document.

/// An upcoming load that was sent to [`DRIVER`]. Its carrier is `hereford-haulage`.
pub(crate) const LOAD: &str = "01955bf1-6c00-7a10-8000-000000000001";
/// An upcoming load whose delivery can be proven.
pub(crate) const LOAD_TO_PROVE: &str = "01955bf1-6c00-7a10-8000-000000000002";
/// An upcoming load that can be cancelled.
pub(crate) const LOAD_TO_CANCEL: &str = "01955bf1-6c00-7a10-8000-000000000003";
/// A load that its carrier entered, and that its organiser has not accepted.
pub(crate) const LOAD_TO_ACCEPT: &str = "01955bf1-6c00-7a10-8000-000000000004";
/// A completed load that was sent to [`DRIVER`].
pub(crate) const COMPLETED_LOAD: &str = "01955bf1-6c00-7a10-8000-000000000005";
/// The notification of [`COMPLETED_LOAD`].
pub(crate) const NOTIFICATION: &str = "01955bf1-6c00-7a10-8000-000000000006";
/// An upcoming load that can be collected.
pub(crate) const LOAD_TO_COLLECT: &str = "01955bf1-6c00-7a10-8000-000000000007";
/// A collected load that can be rejected.
pub(crate) const LOAD_TO_REJECT: &str = "01955bf1-6c00-7a10-8000-000000000008";
/// A cancelled load that can be reopened.
pub(crate) const LOAD_TO_REOPEN: &str = "01955bf1-6c00-7a10-8000-000000000009";
/// An upcoming load that [`BATCH`] created.
pub(crate) const LOAD_OF_BATCH: &str = "01955bf1-6c00-7a10-8000-00000000000a";
/// A batch whose loads can be cancelled.
pub(crate) const BATCH: &str = "01955bf1-6c00-7a10-8000-00000000000b";
/// A weighbridge ticket of `penybont-farm`, which the system service has.
pub(crate) const FILE: &str = "01955bf1-6c00-7a10-8000-000000000201";
/// Claim `sub` of a driver.
pub(crate) const DRIVER: &str = "driver-megan";
/// An organisation that the examples block.
pub(crate) const BLOCKED_ORGANISATION: &str = "unwanted-haulage";
