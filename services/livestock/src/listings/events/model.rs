//! A change of a listing's status (`docs/api/listings.md`, "Lifecycle").

use database::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::listings::model::Status;

/// A change of a listing's status.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListingEvent {
    /// The previous status; absent if the listing was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Status, required = false)]
    pub from: Option<String>,
    /// The new status.
    #[schema(value_type = Status)]
    pub to: String,
    /// The status that the closing request named; absent unless the listing was closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// The user who made the change.
    pub user_id: String,
    /// When the change was made.
    #[serde(rename = "atUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}
