//! Contacts of an organisation.

use common::wire::fold;
use database::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// The most characters of [`name_key`]: an entry of an index of PostgreSQL has at most 2,700 bytes, with two ids.
const MAX_KEY_CHARS: usize = 100;
/// The most characters of [`words`]. Folding can make a text eighteen times as long.
const MAX_WORDS_CHARS: usize = 1_000;

/// Whom a contact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum ContactKind {
    Organisation,
    /// Any user can be a driver.
    Driver,
}

/// An organisation that loads of the caller's organisation name.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OrganisationContact)]
pub(crate) struct OrganisationContact {
    pub(crate) id: String,
    /// The name in the organisation's own tokens, or else in the newest load.
    pub(crate) name: String,
    /// The number of loads that both organisations are parties of.
    pub(crate) loads: i64,
    /// When the newest of these loads was created.
    #[serde(rename = "lastUsedUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) last_used: Timestamp,
    /// Whether somebody has called this service for the organisation.
    pub(crate) is_known: bool,
}

/// A driver to whom the caller's organisation has sent loads.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DriverContact)]
pub(crate) struct DriverContact {
    /// Claim `sub` of the driver's token.
    pub(crate) driver_id: String,
    /// The name in the driver's tokens. Absent if the driver has not called this service.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) name: Option<String>,
    /// The number of loads that the organisation has sent to the driver.
    pub(crate) loads: i64,
    /// When it last sent one.
    #[serde(rename = "lastUsedUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) last_used: Timestamp,
}

/// Returns the form in which equal names are the same, and by which contacts are sorted.
pub(super) fn name_key(name: &str) -> String {
    let folded = fold(name);
    let key = if folded.is_empty() { name.to_lowercase() } else { folded };
    key.chars().take(MAX_KEY_CHARS).collect()
}

/// Returns the text that queries match.
pub(super) fn words(name: Option<&str>, id: &str) -> String {
    let text = format!("{} {}", fold(name.unwrap_or_default()), fold(id));
    text.trim().chars().take(MAX_WORDS_CHARS).collect()
}

/// An organisation or a user that has called.
#[derive(Clone, Debug)]
pub(super) struct SeenCaller {
    pub(super) kind: ContactKind,
    pub(super) id: String,
    pub(super) name: Option<String>,
    /// In days since 1970.
    pub(super) day: i32,
}
