//! The block list of an organisation.

use database::{Id, Timestamp};
use diesel::prelude::*;
use diesel::sql_types::Text;
use serde::Serialize;
use utoipa::ToSchema;

/// An organisation that the caller's has blocked.
#[derive(Debug, Queryable, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BlockedOrganisation {
    /// Where the organisation is in the order of lists.
    #[serde(skip)]
    pub(super) position: Id,
    /// The id of the blocked organisation.
    id: String,
    /// When it was blocked.
    #[serde(rename = "blockedAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    blocked_at: Timestamp,
}

/// An organisation that another one names as organiser or carrier of a load.
#[derive(Clone, Debug, PartialEq, Eq, Hash, QueryableByName)]
pub(crate) struct NamedBy {
    /// The organisation that is named.
    #[diesel(sql_type = Text, column_name = organisation_id)]
    pub(crate) named: String,
    /// The organisation in whose name it is named.
    #[diesel(sql_type = Text, column_name = blocked_id)]
    pub(crate) by: String,
}

impl NamedBy {
    /// Returns the party of a load that an organisation names besides itself.
    pub(crate) fn another_party(parties: &[&str], by: &str) -> Option<Self> {
        let named = parties.iter().find(|party| **party != by)?;
        Some(Self { named: (*named).to_owned(), by: by.to_owned() })
    }
}
