//! The batch as lists show it.

use database::{Id, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

/// A batch that stored something.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = LoadBatch)]
pub(crate) struct StoredBatch {
    /// The id of the batch, which the loads that it created show as `batchId`.
    #[schema(value_type = String, format = Uuid)]
    pub(crate) id: Id,
    /// The names of its files.
    pub(crate) files: Vec<String>,
    /// When the batch was stored.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) created_at: Timestamp,
    /// Claim `sub` of the user.
    pub(crate) user_id: String,
    /// The name of the user.
    pub(crate) user_name: String,
    /// The number of loads that it created.
    pub(crate) count: i64,
    /// The number of loads that it changed.
    pub(crate) updated: i64,
}
