//! The header `Idempotency-Key`, the scope of a key, and the fingerprint of a request.

use actix_web::HttpRequest;
use actix_web::http::Method;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::key;
use crate::auth::Caller;
use crate::response::validation::{Code, ValidationErrors};

/// The name of the header, in lower case.
pub(super) const HEADER: &str = "idempotency-key";
/// Maximum length of a key in bytes.
const MAX_LENGTH: usize = 255;

/// The scope within which a key is unique: the caller (user and organisation) and the operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scope {
    pub(super) caller: String,
    pub(super) operation: String,
    pub(super) key: String,
}

impl Scope {
    /// Creates the scope of a key. A user who acts for two organisations is two callers.
    pub(super) fn new(caller: &Caller, operation: &str, key: &str) -> Self {
        let caller = serde_json::json!([caller.user_id, caller.organisation_id_or_empty()]).to_string();
        Self { caller, operation: operation.to_owned(), key: key.to_owned() }
    }
}

/// Returns the key of a request, if it has one.
///
/// # Errors
/// Returns one error if the key is not 1 to 255 ASCII characters, or if there are several.
pub(super) fn parse(request: &HttpRequest) -> Result<Option<&str>, ValidationErrors> {
    let mut values = request.headers().get_all(HEADER);
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(ValidationErrors::one("Idempotency-Key", Code::Format, "must be sent once"));
    }
    match value.to_str() {
        Ok(key) if (1..=MAX_LENGTH).contains(&key.len()) => Ok(Some(key)),
        _ => {
            Err(ValidationErrors::one("Idempotency-Key", Code::Length, "must have 1 to 255 ASCII characters"))
        }
    }
}

/// Returns the errors of the key of a POST, to be reported before those of the body.
pub(crate) fn key_errors(request: &HttpRequest) -> ValidationErrors {
    if request.method() == Method::POST {
        parse(request).err().unwrap_or_default()
    } else {
        ValidationErrors::default()
    }
}

/// A hash of method, path, query and body, by which a repeated request is recognized. It is empty for a request without
/// an `Idempotency-Key`.
#[derive(Clone, Debug, Default)]
pub struct Fingerprint(pub(super) String);

impl Fingerprint {
    /// Computes the fingerprint of a request with this body.
    pub fn of(request: &HttpRequest, body: &[u8]) -> Self {
        Self::start(request).map_or_else(Self::default, |hash| Self::finish(hash.chain_update(body)))
    }

    /// Hashes method, path and query. The caller continues with the body. Returns `None` for a request without a key.
    pub fn start(request: &HttpRequest) -> Option<Sha256> {
        request.headers().contains_key(key::HEADER).then(|| {
            let head = format!("{} {}\n", request.method(), request.uri());
            Sha256::new_with_prefix(head)
        })
    }

    /// Completes a hash that [`Fingerprint::start`] began.
    pub fn finish(hash: Sha256) -> Self {
        Self(URL_SAFE_NO_PAD.encode(hash.finalize()))
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;
    use actix_web::test::TestRequest;
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert_eq};

    use super::*;

    #[test]
    fn refuses_two_keys() {
        let request = TestRequest::post().append_header((HEADER, "a")).append_header((HEADER, "a"));
        assert!(key_errors(&request.to_http_request()).failed("Idempotency-Key"));
    }

    proptest::proptest! {
        #[test]
        fn accepts_exactly_1_to_255_ascii_characters(
            any in vec(any::<u8>(), 0..20), ascii in "[ -~]{0,3}[!-~]{0,270}",
        ) {
            for bytes in [any, ascii.into_bytes()] {
                let Ok(value) = HeaderValue::from_bytes(&bytes) else { continue };
                let request = TestRequest::post().insert_header((HEADER, value)).to_http_request();
                let is_valid =
                    (1..=255).contains(&bytes.len()) && bytes.iter().all(|b| matches!(b, b'\t' | b' '..=b'~'));
                prop_assert_eq!(parse(&request).ok(), is_valid.then(|| std::str::from_utf8(&bytes).ok()));
                prop_assert_eq!(key_errors(&request).failed("Idempotency-Key"), !is_valid);
            }
        }
    }
}
