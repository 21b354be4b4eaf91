//! Strict parsing of a token's header and claims: each member is named once, and no header extension is critical.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::AuthError;

/// Begins the error of a JSON object that names a member twice.
pub(super) const DUPLICATE: &str = "duplicate member";

/// The members of a JSON object that names each of them once. `serde_json` would keep the last one silently, and
/// another reader of the same token may keep the first.
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

/// Checks what the header of a token must not have, whatever the signature.
///
/// # Errors
/// The header cannot be parsed, names a member twice, or names critical extensions (RFC 7515, 4.1.11): none is
/// understood here.
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

/// True if the error says that a member is named twice.
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
    fn headers_are_parsed_strictly() {
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
    fn a_member_that_is_named_twice_is_told_apart_from_other_errors() {
        let error = |text: &str| serde_json::from_str::<UniqueMembers>(text).err();
        assert!(error(r#"{"a":1,"b":{"a":2}}"#).is_none());
        assert!(error(r#"{"a":1,"b":2,"a":1}"#).is_some_and(|error| is_duplicate(&error)));
        assert!(error(r#"{"duplicate member":"#).is_some_and(|error| !is_duplicate(&error)));
    }
}
