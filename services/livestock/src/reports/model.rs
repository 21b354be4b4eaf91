//! A stored report and its reasons (`docs/api/listings.md`, "Reports").

use database::{Id, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The reason of a report.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    ToSchema,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ReportReason {
    #[default]
    Misleading,
    Suspicious,
    Other,
}

impl ReportReason {
    /// Returns the name that is stored and sent.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A report as moderators read it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// UUID, version 7.
    #[schema(value_type = String, format = Uuid)]
    pub id: Id,
    /// The user who sent the report.
    pub user_id: String,
    /// Why the listing is reported.
    #[schema(value_type = ReportReason)]
    pub reason: String,
    /// The explanation of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub message: Option<String>,
    /// When the report was sent.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}
