//! Strict parsing of a token's header and claims: without duplicate members and without critical header extensions.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::AuthError;
use crate::wire::{UniqueMembers, is_duplicate};

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
}
