//! Strict parsing of a token's header and claims: without duplicate members and without critical header extensions.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::AuthError;

/// The start of the error message for a duplicate member.
const DUPLICATE: &str = "duplicate member";

/// A JSON object without duplicate members. `serde_json` uses the last duplicate silently, while another parser of the
/// same token may use the first.
pub(super) struct UniqueMembers(pub(super) Map<String, Value>);

impl<'de> Deserialize<'de> for UniqueMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members).map(Self)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut members = Map::new();
        while let Some((name, value)) = access.next_entry::<String, Value>()? {
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom(DUPLICATE));
            }
        }
        Ok(members)
    }
}

/// Checks the header of a token, before its signature.
///
/// # Errors
/// Fails if the header cannot be parsed, has a duplicate member, or has critical extensions (RFC 7515, section 4.1.11),
/// none of which is supported.
pub(super) fn check_header(token: &str) -> Result<(), AuthError> {
    const UNREADABLE: AuthError = AuthError::BadToken("the token cannot be read");
    let encoded = token.split('.').next().unwrap_or_default();
    let text = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| UNREADABLE)?;
    let header: UniqueMembers = serde_json::from_slice(&text).map_err(|error| {
        if is_duplicate(&error) {
            AuthError::BadToken("the token's header names a member twice")
        } else {
            UNREADABLE
        }
    })?;
    if header.0.contains_key("crit") {
        return Err(AuthError::BadToken("the token needs a header extension (crit) that is not supported"));
    }
    Ok(())
}

/// Returns true if the error is a duplicate member.
pub(super) fn is_duplicate(error: &serde_json::Error) -> bool {
    error.to_string().starts_with(DUPLICATE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(header: &str) -> Option<&'static str> {
        match check_header(&format!("{}.x.y", URL_SAFE_NO_PAD.encode(header))) {
            Err(AuthError::BadToken(reason)) => Some(reason),
            _ => None,
        }
    }

    #[test]
    fn rejects_duplicate_and_critical_header_members() {
        assert_eq!(reason(r#"{"alg":"EdDSA","kid":"a","x":{"crit":1}}"#), None);
        for (header, part) in [
            (r#"{"alg":"EdDSA","crit":["exp"]}"#, "crit"),
            (r#"{"alg":"EdDSA","crit":null}"#, "crit"),
            (r#"{"alg":"EdDSA","\u0063rit":[]}"#, "crit"),
            (r#"{"alg":"EdDSA","kid":"a","kid":"a"}"#, "twice"),
            (r#"{"alg":"EdDSA","x":1,"\u0078":2}"#, "twice"),
            (r#"["alg"]"#, "cannot be read"),
            ("{", "cannot be read"),
        ] {
            assert!(reason(header).is_some_and(|reason| reason.contains(part)), "{header}");
        }
    }

    #[test]
    fn distinguishes_duplicate_members_from_other_errors() {
        let error = |text: &str| serde_json::from_str::<UniqueMembers>(text).err();
        assert!(error(r#"{"a":1,"b":{"a":2}}"#).is_none());
        assert!(error(r#"{"a":1,"b":2,"a":1}"#).is_some_and(|error| is_duplicate(&error)));
        assert!(error(r#"{"duplicate member":"#).is_some_and(|error| !is_duplicate(&error)));
    }
}
