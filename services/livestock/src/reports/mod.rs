//! What users say is wrong with a listing. Its owner never learns of it: moderators read it, and see the count in the log
//! and the metrics.

mod api;
mod store;

use common::wire::LongText;
use database::{Id, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) fn routes(v1: &mut ServiceConfig) {
    v1.service(api::report).service(api::list);
}

/// A report as it is sent (interface.md, 4.3).
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = ReportListing)]
struct Form {
    #[schema(required = true)]
    reason: Reason,
    #[schema(required = true)]
    message: Option<LongText>,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ReportReason)]
pub(crate) enum Reason {
    #[default]
    Misleading,
    Suspicious,
    Other,
}

impl Reason {
    /// As stored and shown.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Misleading => "misleading",
            Self::Suspicious => "suspicious",
            Self::Other => "other",
        }
    }
}

/// A report as moderators read it (contract, section 6, "Shapes of additions").
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Report {
    /// UUIDv7.
    #[schema(value_type = String, format = Uuid)]
    id: Id,
    /// Who reported it.
    user_id: String,
    #[schema(value_type = Reason)]
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    message: Option<String>,
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}
