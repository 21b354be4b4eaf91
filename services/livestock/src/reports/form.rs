//! The request that reports a listing (`docs/api/listings.md`, "Reports").

use common::wire::LongText;
use serde::Deserialize;
use utoipa::ToSchema;

use super::model::ReportReason;

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
