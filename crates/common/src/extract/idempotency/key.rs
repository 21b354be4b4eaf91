//! The header `Idempotency-Key`.

use actix_web::HttpRequest;
use actix_web::http::Method;

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
