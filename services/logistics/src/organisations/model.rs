//! The block list of an organisation.

use common::validation::{Code, ValidationErrors};
use common::wire::{ID_MESSAGE, TextForm, is_plain_id};
use common::{Error, check_path_text};
use database::{Id, Timestamp};
use diesel::prelude::*;
use diesel::sql_types::Text;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

/// The most characters of an id, as in tokens.
const MAX_ID_CHARS: usize = 200;

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

/// Returns an id of a path in the form in which requests name organisations.
///
/// # Errors
/// 404 for control characters, 400 for an id that no request can name.
pub(super) fn parse_id(text: String) -> Result<String, Error> {
    let text = check_path_text(text)?;
    let id = TextForm::Id.normalize(&text).into_owned();
    let mut errors = ValidationErrors::default();
    if !(1..=MAX_ID_CHARS).contains(&id.chars().count()) {
        let data = json!({ "minimum": 1, "maximum": MAX_ID_CHARS });
        errors.push_with("id", Code::Length, format!("must have 1 to {MAX_ID_CHARS} characters"), data);
    } else if !is_plain_id(&id) {
        errors.push("id", Code::Format, ID_MESSAGE);
    }
    errors.check()?;
    Ok(id)
}
