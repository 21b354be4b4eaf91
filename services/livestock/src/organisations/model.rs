//! A suspended organisation, and the form that suspends one.

use common::wire::Reason;
use database::{Id, Timestamp};
use diesel::{Queryable, Selectable};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A suspended organisation.
#[derive(Clone, Debug, Serialize, Queryable, Selectable, ToSchema)]
#[serde(rename_all = "camelCase")]
#[diesel(table_name = crate::schema::suspended_organisations)]
pub(super) struct SuspendedOrganisation {
    /// The organisation's id.
    #[serde(rename = "id")]
    #[schema(rename = "id")]
    pub(super) organisation_id: String,
    /// Why it is suspended.
    pub(super) reason: String,
    /// When it was suspended.
    #[serde(rename = "suspendedAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub(super) suspended_at: Timestamp,
    /// The place in lists.
    #[serde(skip)]
    #[schema(ignore)]
    #[diesel(column_name = id)]
    pub(super) position: Id,
}

/// Why an organisation is suspended.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = SuspendOrganisation, example = json!({ "reason": "Several buyers reported that the animals do not exist." }))]
pub(super) struct SuspendForm {
    /// For administrators; the organisation does not see it.
    #[schema(required = true)]
    pub(super) reason: Reason,
}
