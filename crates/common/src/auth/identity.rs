//! The identity that the claims of a token state, and roles (`docs/api/authentication.md`, "Roles").

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr};
use utoipa::ToSchema;

use super::AuthError;
use crate::config::Claims;
use crate::wire::{normalize_line, without_invisible};

/// The beginning of the ids that erased users get.
pub(crate) const ERASED_PREFIX: &str = "erased-";
/// The beginning of the ids of service accounts in tokens. The rest is the id of the account.
pub const SERVICE_ACCOUNT_PREFIX: &str = "service-account:";
/// Maximum length of an id or a name in characters.
const MAX_CHARS: usize = 200;

/// The organisation that a caller acts for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Organisation {
    /// Claim `org`.
    pub id: String,
    /// Claim `orgName`.
    pub name: Option<String>,
}

impl Organisation {
    /// Returns the name, or the id without invisible characters if the token has no name.
    pub fn name_or_id(&self) -> String {
        let visible_id = || Some(without_invisible(&self.id)).filter(|id| !id.trim().is_empty());
        self.name.clone().or_else(visible_id).unwrap_or_else(|| self.id.clone())
    }
}

/// The user, organisation and role that a token names.
#[derive(Clone)]
pub(super) struct Identity {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) organisation: Option<Organisation>,
    pub(super) admin: bool,
    /// Empty for `admin`, who has precedence.
    pub(super) roles: Vec<Role>,
    pub(super) is_service_account: bool,
}

impl Identity {
    /// Reads the claims of a token of a service account, which has the default names of claims and is never `admin`.
    ///
    /// # Errors
    /// As [`Identity::from_claims`], and if the user id is not that of a service account.
    pub(super) fn of_service_account(claims: &Map<String, Value>) -> Result<Self, AuthError> {
        let identity = Self::read(claims, &Claims::default())?;
        if !identity.id.starts_with(SERVICE_ACCOUNT_PREFIX) {
            return Err(AuthError::BadToken("its user id is not that of a service account"));
        }
        let roles = claims.get("roles").and_then(Value::as_array);
        let roles = Role::parse_all(roles.map_or(&[], Vec::as_slice));
        Ok(Self { admin: false, roles, is_service_account: true, ..identity })
    }

    /// Reads the claims of a token of the identity provider, whose names or paths are configured.
    ///
    /// # Errors
    /// Fails if there is no user id or one that is reserved, or if an id or a name is too long or has control
    /// characters.
    pub(super) fn from_claims(claims: &Map<String, Value>, names: &Claims) -> Result<Self, AuthError> {
        let identity = Self::read(claims, names)?;
        if identity.id.starts_with(SERVICE_ACCOUNT_PREFIX) {
            return Err(AuthError::BadToken("its user id is reserved for service accounts"));
        }
        Ok(identity)
    }

    fn read(claims: &Map<String, Value>, names: &Claims) -> Result<Self, AuthError> {
        let texts = [&names.sub, &names.name, &names.org, &names.org_name]
            .map(|name| find_claim(claims, name).and_then(Value::as_str));
        let is_invalid = |text: &str| text.chars().count() > MAX_CHARS || text.chars().any(char::is_control);
        if texts.into_iter().flatten().any(is_invalid) {
            return Err(AuthError::BadToken(
                "a claim is longer than 200 characters or has control characters",
            ));
        }
        // Ids are not normalized: two ids that differ for the identity provider must differ here.
        let id =
            |name: &str| Some(find_claim(claims, name)?.as_str()?).filter(|text| !text.trim().is_empty());
        // Names are shown to other users. Characters that could disguise a name are removed.
        let display_name = |name: &str| {
            let visible = without_invisible(id(name)?);
            let line = normalize_line(&visible);
            (!line.is_empty()).then(|| line.into_owned())
        };
        let user_id = id(&names.sub).ok_or(AuthError::BadToken("the token has no user id"))?.to_owned();
        if user_id.starts_with(ERASED_PREFIX) {
            return Err(AuthError::BadToken("its user id is reserved for users who were erased"));
        }
        let organisation =
            id(&names.org).map(|id| Organisation { id: id.to_owned(), name: display_name(&names.org_name) });
        let roles = find_claim(claims, &names.roles).and_then(Value::as_array);
        let roles = roles.map_or(&[][..], Vec::as_slice);
        let admin = roles.iter().any(|role| role == ADMIN);
        Ok(Self {
            name: display_name(&names.name)
                .or_else(|| display_name(&names.sub))
                .unwrap_or_else(|| user_id.clone()),
            id: user_id,
            organisation,
            admin,
            roles: if admin { Vec::new() } else { Role::parse_all(roles) },
            is_service_account: false,
        })
    }
}

/// Returns the claim of this name. Without one, the name is a path of members of nested objects, separated by dots: a
/// claim `a.b` takes precedence over the member `b` of a claim `a`, whatever its value.
fn find_claim<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(value) = claims.get(name) {
        return Some(value);
    }
    let mut members = name.split('.');
    let first = claims.get(members.next()?)?;
    members.try_fold(first, |value, member| value.get(member))
}

/// The role without restrictions. It has precedence over all others.
pub(super) const ADMIN: &str = "admin";

/// A role that restricts its callers to the operations that name it in `x-roles`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumIter, IntoStaticStr, ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Role {
    /// Reads what its organisation may read, and changes nothing but its own saved searches and wishlist.
    Viewer,
    /// Reads loads and files, uploads files, proves deliveries, and writes notes.
    Weighbridge,
}

impl Role {
    /// Returns the name, as in tokens and in `x-roles`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The message of the 403 for a caller whom the role keeps from an operation.
    pub(crate) fn denied_message(self) -> &'static str {
        match self {
            Self::Viewer => "The role viewer may read, and change its own saved searches and wishlist only.",
            Self::Weighbridge => {
                "The role weighbridge may read loads and files, upload files, record collections, proofs, their \
                 corrections and rejections, and write notes only."
            }
        }
    }

    /// Returns the roles in the claim of a token. Other names have no meaning.
    pub(super) fn parse_all(names: &[Value]) -> Vec<Self> {
        let is_named = |role: &Self| names.iter().any(|name| name == role.name());
        Self::iter().filter(is_named).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn find(claims: &Value, name: &str) -> Option<Value> {
        find_claim(claims.as_object().unwrap(), name).cloned()
    }

    #[test]
    fn finds_claims_by_name_and_by_path() {
        let claims = json!({
            "org": "o",
            "realm_access": {"roles": ["a"], "deep": {"er": 1}},
            "https://drover.example/roles": ["b"],
            "list": [{"roles": ["c"]}],
            "": {"": 2},
        });
        for (name, found) in [
            ("org", json!("o")),
            ("realm_access.roles", json!(["a"])),
            ("realm_access.deep.er", json!(1)),
            ("https://drover.example/roles", json!(["b"])),
            (".", json!(2)),
        ] {
            assert_eq!(find(&claims, name), Some(found), "{name}");
        }
        for name in
            ["realm_access.", "realm_access.role", ".realm_access", "org.o", "list.0", "list.roles", "x.y"]
        {
            assert_eq!(find(&claims, name), None, "{name}");
        }
    }

    #[test]
    fn a_claim_whose_name_has_dots_takes_precedence_even_if_it_is_useless() {
        for literal in [json!(["literal"]), json!(null), json!({"x": 1})] {
            let claims = json!({"realm_access.roles": literal, "realm_access": {"roles": ["admin"]}});
            assert_eq!(find(&claims, "realm_access.roles"), Some(literal));
        }
    }

    proptest! {
        #[test]
        fn the_literal_name_wins(path in prop::collection::vec("[a-z:/]{0,6}", 1..5), inner in any::<i32>(), outer in any::<i32>()) {
            let name = path.join(".");
            let mut nested = json!(inner);
            for member in path.iter().rev() {
                nested = json!({ member: nested });
            }
            prop_assert_eq!(find(&nested, &name), Some(json!(inner)));
            nested[&name] = json!(outer);
            prop_assert_eq!(find(&nested, &name), Some(json!(outer)));
        }

        #[test]
        fn any_name_is_accepted(name in "\\PC{0,40}", member in "[a-z.]{0,9}") {
            let found = find(&json!({ &member: {"a": 1} }), &name);
            let path = format!("{member}.a");
            prop_assert!(found.is_none() || name == member || name == path);
        }
    }
}
