//! Who is logged in, as the access token names the person.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use common::config::Claims;
use serde_json::Value;

/// A person. The console shows these texts and never decides by them what the person may do: the services do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Person {
    /// User id.
    pub(crate) id: String,
    /// Name of the user, or else the id.
    pub(crate) name: String,
    /// Id of the organisation that the person acts for.
    pub(crate) organisation_id: Option<String>,
    /// Name of the organisation, or else its id.
    pub(crate) organisation_name: Option<String>,
    /// Whether the person administers the marketplace.
    pub(crate) is_admin: bool,
    /// Whether the person may only read.
    pub(crate) is_viewer: bool,
    /// Whether the person works at a weighbridge, and does nothing but weigh.
    pub(crate) is_weigher: bool,
}

impl Person {
    /// Reads the claims of a token. Its signature is verified by the services that are called with it.
    pub(crate) fn of_token(token: &str, names: &Claims) -> Option<Self> {
        let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
        let claims: Value = serde_json::from_slice(&payload).ok()?;
        let text = |name: &str| {
            let text = claim(&claims, name)?.as_str()?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let id = text(&names.sub)?;
        let roles = claim(&claims, &names.roles).and_then(Value::as_array).cloned().unwrap_or_default();
        let has = |role: &str| roles.iter().any(|own| own == role);
        let organisation_id = text(&names.org);
        let is_admin = has("admin");
        Some(Self {
            name: text(&names.name).unwrap_or_else(|| id.clone()),
            organisation_name: organisation_id.clone().map(|id| text(&names.org_name).unwrap_or(id)),
            organisation_id,
            is_admin,
            is_viewer: has("viewer") && !is_admin,
            is_weigher: has("weighbridge") && !is_admin,
            id,
        })
    }

    /// Returns true if a role keeps the person from most writing.
    pub(crate) fn is_restricted(&self) -> bool {
        self.is_viewer || self.is_weigher
    }

    /// Returns true if the person may write for an organisation.
    pub(crate) fn may_write(&self) -> bool {
        self.is_admin || self.organisation_id.is_some() && !self.is_restricted()
    }

    /// Returns true if the person may change what belongs to this organisation.
    pub(crate) fn may_change(&self, organisation_id: Option<&str>) -> bool {
        self.may_write() && (self.is_admin || self.acts_for(organisation_id))
    }

    /// Returns true if the person may ask about or report what belongs to this organisation.
    pub(crate) fn may_ask(&self, organisation_id: Option<&str>) -> bool {
        !self.is_restricted() && !self.acts_for(organisation_id)
    }

    /// Returns what identifies the person and the organisation, for forms that nobody else may send.
    pub(crate) fn form_owner(&self) -> String {
        format!("{}\n{}", self.id, self.organisation_id.as_deref().unwrap_or_default())
    }

    /// Returns true if the person acts for this organisation.
    pub(crate) fn acts_for(&self, organisation_id: Option<&str>) -> bool {
        organisation_id.is_some() && self.organisation_id.as_deref() == organisation_id
    }
}

/// Returns a claim by its name, or else by a path of members such as `realm_access.roles`.
fn claim<'a>(claims: &'a Value, name: &str) -> Option<&'a Value> {
    claims.get(name).or_else(|| name.split('.').try_fold(claims, |value, member| value.get(member)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn person(claims: &Value, names: &Claims) -> Option<Person> {
        let payload = URL_SAFE_NO_PAD.encode(claims.to_string());
        Person::of_token(&format!("e30.{payload}.c2ln"), names)
    }

    #[test]
    fn reads_the_configured_claims() {
        let ruth = person(&json!({"sub": "ruth", "org": "haul", "roles": ["viewer", 7]}), &Claims::default());
        let ruth = ruth.unwrap();
        assert_eq!((ruth.name.as_str(), ruth.organisation_name.as_deref()), ("ruth", Some("haul")));
        assert!(ruth.is_viewer && !ruth.is_admin && ruth.acts_for(Some("haul")) && !ruth.acts_for(None));
        let elsewhere = person(&json!({"sub": "ruth", "org": "grain"}), &Claims::default()).unwrap();
        assert_ne!(elsewhere.form_owner(), ruth.form_owner(), "the same person for another organisation");
        let names = Claims { roles: "realm_access.roles".to_owned(), ..Claims::default() };
        let anna = json!({"sub": "anna", "name": "Anna", "org": " ", "realm_access": {"roles": ["admin", "viewer"]}});
        let anna = person(&anna, &names).unwrap();
        assert!(anna.is_admin && !anna.is_viewer && anna.organisation_id.is_none() && !anna.acts_for(None));
        assert_eq!(person(&json!({"name": "x"}), &names), None);
        assert!(Person::of_token("opaque", &names).is_none() && Person::of_token("a.b.c", &names).is_none());
    }
}
