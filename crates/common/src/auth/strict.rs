//! Strict parsing of a token's header and claims: without duplicate members and without critical header extensions.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::AuthError;

/// The start of the error message for a duplicate member.
const DUPLICATE: &str = "duplicate member";

/// A JSON object without duplicate members, also in nested objects. `serde_json` uses the last duplicate silently,
/// while another parser of the same token may use the first.
pub(super) struct UniqueMembers(pub(super) Map<String, Value>);

impl<'de> Deserialize<'de> for UniqueMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match UniqueValue::deserialize(deserializer)?.0 {
            Value::Object(members) => Ok(Self(members)),
            _ => Err(D::Error::custom("expected a JSON object")),
        }
    }
}

/// A JSON value whose objects have no duplicate members.
struct UniqueValue(Value);

impl<'de> Deserialize<'de> for UniqueValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(UniqueValue(item)) = access.next_element()? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some((name, UniqueValue(value))) = access.next_entry::<String, _>()? {
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom(DUPLICATE));
            }
        }
        Ok(members.into())
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

/// Returns the issuer and the user id that a token states. Nothing of it is verified.
pub(super) fn stated_issuer(token: &str) -> Option<(String, String)> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let UniqueMembers(claims) = serde_json::from_slice(&claims).ok()?;
    let text = |name: &str| claims.get(name).and_then(Value::as_str).map(str::to_owned);
    Some((text("iss")?, text("sub").unwrap_or_default()))
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
        assert!(error(r#"{"a":1,"b":{"a":[2,{"a":3}]}}"#).is_none());
        for text in [r#"{"a":1,"b":2,"a":1}"#, r#"{"a":{"b":1,"b":1}}"#, r#"{"a":[0,{"b":{"c":1,"c":2}}]}"#] {
            assert!(error(text).is_some_and(|error| is_duplicate(&error)), "{text}");
        }
        for text in [r#"{"duplicate member":"#, "[]", "null"] {
            assert!(error(text).is_some_and(|error| !is_duplicate(&error)), "{text}");
        }
    }

    #[test]
    fn reads_every_json_value() {
        let text = r#"{"a":[null,true,1,-1,1.5,18446744073709551615,"x",{}]}"#;
        let members = serde_json::from_str::<UniqueMembers>(text).map(|members| Value::Object(members.0));
        assert_eq!(members.ok(), serde_json::from_str(text).ok());
    }
}
