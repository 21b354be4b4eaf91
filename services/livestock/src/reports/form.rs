//! The requests that report a listing and resolve a report (`docs/api/listings.md`, "Reports").

use common::wire::LongText;
use serde::Deserialize;
use utoipa::ToSchema;

use super::model::{ReportOutcome, ReportReason};

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
