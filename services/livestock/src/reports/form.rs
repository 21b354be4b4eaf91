//! The request that reports a listing (`docs/api/listings.md`, "Reports").

use common::wire::LongText;
use serde::Deserialize;
use utoipa::ToSchema;

use super::model::ReportReason;

/// A report of a listing.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = ReportListing)]
pub struct ReportForm {
    #[schema(required = true)]
    pub reason: ReportReason,
    #[schema(required = true)]
    pub message: Option<LongText>,
}
