//! The batches that stored something, and the cancellation of the loads that they created (docs/api/batches.md,
//! "Batches").

mod model;
mod store;

pub(super) use model::StoredBatch;
pub(super) use store::{find, keep, list};
