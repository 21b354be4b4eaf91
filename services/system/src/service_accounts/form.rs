//! The request bodies that create and edit a service account, and their rules.

use chrono::{DateTime, Months};
use common::validation::{Code, ValidationErrors};
use common::wire::{DateOrDateTime, Name};
use common::{MergePatch, Role};
use database::Timestamp;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

/// The longest time until an account expires.
const MAX_LIFETIME: Months = Months::new(24);
/// Members of service accounts that no patch can change.
const READ_ONLY: [&str; 7] =
    ["id", "clientId", "clientSecret", "organisationId", "expiresAtUTC", "createdAtUTC", "lastUsedAtUTC"];
/// Members that no patch can remove.
const REQUIRED: [&str; 1] = ["name"];

/// A service account to create.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({ "name": "Weighbridge Hereford", "roles": ["weighbridge"] }))]
pub(super) struct ServiceAccountForm {
    /// A name for people. Tokens have it as the user's name, so loads and files show it.
    #[schema(required = true)]
    pub(super) name: Name,
    /// The roles that restrict the account. Without any, it may do what a user of the organisation may.
    #[schema(max_items = 10)]
    pub(super) roles: Vec<Role>,
    /// When the account stops getting tokens: at most two years ahead. Absent: never.
    #[serde(rename = "expiresAtUTC")]
    pub(super) expires_at: Option<DateOrDateTime>,
}

/// Members of a service account to change. Absent members stay as they are.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({ "name": "Weighbridge Leominster" }))]
pub(super) struct ServiceAccountPatch {
    /// A name for people.
    #[schema(nullable = false)]
    pub(super) name: Option<Name>,
    /// The roles that restrict the account; `null` removes all. They apply to the tokens that it gets from then on.
    #[schema(max_items = 10)]
    pub(super) roles: Option<Vec<Role>>,
}

impl ServiceAccountForm {
    /// Returns when the account expires.
    pub(super) fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at.as_ref().and_then(DateOrDateTime::start)
    }
}

/// Checks the rules that the schema cannot state.
pub(super) fn validate_form(form: &ServiceAccountForm, errors: &mut ValidationErrors) {
    let Some(expires_at) = form.expires_at() else { return };
    let (now, maximum) = (Timestamp::now(), latest_expiry());
    if expires_at <= now || maximum.is_some_and(|maximum| expires_at > maximum) {
        let data = json!({ "minimum": now, "maximum": maximum });
        errors.push_with(
            "expiresAtUTC",
            Code::Range,
            "must be in the future and at most 2 years ahead",
            data,
        );
    }
}

/// Checks the rules that the schema cannot state.
pub(super) fn validate_patch(patch: &MergePatch<ServiceAccountPatch>, errors: &mut ValidationErrors) {
    patch.check_names(&READ_ONLY, &REQUIRED, errors);
}

/// Returns the latest time at which a new account may expire.
fn latest_expiry() -> Option<Timestamp> {
    let now = DateTime::from_timestamp_millis(Timestamp::now().millis())?;
    Timestamp::from_millis(now.checked_add_months(MAX_LIFETIME)?.timestamp_millis())
}

/// Returns the roles without duplicates.
pub(super) fn distinct(roles: &[Role]) -> Vec<Role> {
    let mut known = Vec::new();
    for role in roles {
        if !known.contains(role) {
            known.push(*role);
        }
    }
    known
}
