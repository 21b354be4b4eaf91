//! A stored report, its reasons and outcomes (`docs/api/listings.md`, "Reports").

use common::wire::LongText;
use common::{SortDefinition, Sorting};
use database::search::{Nulls, SortType};
use database::{Id, Timestamp};
use diesel::{Queryable, Selectable};
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
    strum::VariantNames,
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

/// Whether an administrator has decided on a report.
#[derive(Clone, Copy, Debug, ToSchema, strum::IntoStaticStr, strum::VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub(crate) enum ReportStatus {
    /// Not yet.
    Open,
    /// With an outcome.
    Resolved,
}

impl ReportStatus {
    /// Returns the name that is stored and sent.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What an administrator decided on a report.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(crate) enum ReportOutcome {
    /// The listing stays as it is.
    #[default]
    Dismissed,
    /// The listing is closed.
    ListingRemoved,
}

impl ReportOutcome {
    /// Returns the name that is stored and sent.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A report as administrators read it.
#[derive(Clone, Debug, Serialize, Queryable, Selectable, ToSchema)]
#[serde(rename_all = "camelCase")]
#[diesel(table_name = crate::schema::reports)]
pub(crate) struct Report {
    /// UUID, version 7.
    #[schema(value_type = String, format = Uuid)]
    pub id: Id,
    /// The id of the reported listing.
    #[schema(value_type = String, format = Uuid)]
    pub listing_id: Id,
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
    /// Whether an administrator has decided on the report.
    #[schema(value_type = ReportStatus)]
    pub status: String,
    /// The decision; absent while the report is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ReportOutcome, required = false, nullable = false)]
    pub outcome: Option<String>,
    /// The note of the administrator.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub note: Option<String>,
}

/// The order of the queue.
static ORDER: SortDefinition<()> =
    SortDefinition { name: "createdAt", key: (), sort_type: SortType::Timestamp, nulls: Nulls::Never };

/// Returns the order of the queue, by default oldest first.
pub(crate) fn order(newest_first: bool) -> Sorting<()> {
    Sorting::new(&ORDER, newest_first)
}

/// A report of a listing.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(
    as = ReportListing,
    example = json!({ "reason": "misleading", "message": "The photograph shows other animals." })
)]
pub(crate) struct ReportForm {
    /// Why the listing is reported.
    #[schema(required = true)]
    pub reason: ReportReason,
    /// An explanation for moderators; may be `null`.
    #[schema(required = true)]
    pub message: Option<LongText>,
}

/// How a report is resolved.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = ResolveReport, example = json!({ "outcome": "dismissed", "note": "The photograph is right." }))]
pub(crate) struct ResolveForm {
    /// `listing_removed` closes the listing and resolves all open reports of it.
    #[schema(required = true)]
    pub outcome: ReportOutcome,
    /// A note for administrators. It stays as it is if the report is resolved already.
    pub note: Option<LongText>,
}
