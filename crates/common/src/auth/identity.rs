//! The identity that the claims of a token state.

use serde_json::{Map, Value};

use super::AuthError;
use crate::config::Claims;
use crate::wire::{normalize_line, without_invisible};

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
}

impl Identity {
    /// Reads the claims, whose names are configured.
    ///
    /// # Errors
    /// Fails if there is no user id, or if an id or a name is too long or has control characters.
    pub(super) fn from_claims(claims: &Map<String, Value>, names: &Claims) -> Result<Self, AuthError> {
        let texts = [&names.sub, &names.name, &names.org, &names.org_name]
            .map(|name| claims.get(name).and_then(Value::as_str));
        let is_invalid = |text: &str| text.chars().count() > MAX_CHARS || text.chars().any(char::is_control);
        if texts.into_iter().flatten().any(is_invalid) {
            return Err(AuthError::BadToken(
                "a claim is longer than 200 characters or has control characters",
            ));
        }
        // Ids are not normalized: two ids that differ for the identity provider must differ here.
        let id = |name: &str| Some(claims.get(name)?.as_str()?).filter(|text| !text.trim().is_empty());
        // Names are shown to other users. Characters that could disguise a name are removed.
        let display_name = |name: &str| {
            let visible = without_invisible(id(name)?);
            let line = normalize_line(&visible);
            (!line.is_empty()).then(|| line.into_owned())
        };
        let user_id = id(&names.sub).ok_or(AuthError::BadToken("the token has no user id"))?.to_owned();
        let organisation =
            id(&names.org).map(|id| Organisation { id: id.to_owned(), name: display_name(&names.org_name) });
        let roles = claims.get(&names.roles).and_then(Value::as_array);
        Ok(Self {
            name: display_name(&names.name)
                .or_else(|| display_name(&names.sub))
                .unwrap_or_else(|| user_id.clone()),
            id: user_id,
            organisation,
            admin: roles.is_some_and(|roles| roles.iter().any(|role| role == "admin")),
        })
    }
}
