//! Query parameters that an operation does not have: ignored and named in a response header, or refused in strict mode
//! (docs/api/conventions.md, "JSON").

use std::collections::HashSet;

use actix_web::http::header::HeaderValue;
use actix_web::{HttpRequest, web};
use serde_json::json;

use crate::openapi::{Api, Operation, Route};
use crate::response::validation::{Code, ValidationErrors};

/// Whether unknown query parameters are refused (app data, `server.strict_parameters`).
#[derive(Clone, Copy)]
pub(crate) struct StrictParameters(pub bool);

/// The beginning of the names of filters.
const FILTER_PREFIX: &str = "f:";

/// Message for an unknown parameter in strict mode.
pub(crate) const UNKNOWN_MESSAGE: &str = "is not a query parameter of this operation";

/// The most unknown parameters that strict mode reports. Each entry lists the names of all parameters.
pub(crate) const MAX_REPORTED: usize = 20;
/// The maximum length of the header in bytes: proxies accept some KiB of headers.
const MAX_HEADER_BYTES: usize = 2048;
/// The most bytes of a name in the header, before percent-encoding. The rest of a longer name is left out.
const MAX_NAME_BYTES: usize = 100;

/// Returns the unknown names of a query, each once.
fn unknown_names(query: &str, operation: &Operation) -> Vec<String> {
    let (mut names, mut seen) = (Vec::new(), HashSet::new());
    // The values are not decoded.
    let encoded = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default());
    for (name, _) in encoded.flat_map(|name| url::form_urlencoded::parse(name.as_bytes())) {
        if !name.is_empty() && !operation.has_parameter(&name) && seen.insert(name.clone()) {
            names.push(name.into_owned());
        }
    }
    names
}

/// Returns the value of the header `X-Unknown-Parameters` for a query. `None` if all parameters are known.
pub(crate) fn header_value(query: &str, operation: &Operation) -> Option<HeaderValue> {
    let text = encode_names(&unknown_names(query, operation));
    if text.is_empty() { None } else { HeaderValue::try_from(text).ok() }
}

/// Joins names by commas, as many as fit. Characters that a header cannot have are percent-encoded, and so are commas
/// and percent signs. Of each name, only the first 100 bytes are shown.
fn encode_names(names: &[String]) -> String {
    let mut text = String::new();
    for name in names {
        let mut encoded = String::new();
        for byte in name.bytes().take(MAX_NAME_BYTES) {
            if byte.is_ascii_graphic() && byte != b',' && byte != b'%' {
                encoded.push(char::from(byte));
            } else {
                encoded.extend([format!("%{byte:02X}")]);
            }
        }
        if text.len() + 1 + encoded.len() > MAX_HEADER_BYTES {
            break;
        }
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&encoded);
    }
    text
}

/// Returns true if the service refuses unknown parameters.
fn is_strict(request: &HttpRequest) -> bool {
    request.app_data::<web::Data<StrictParameters>>().is_some_and(|strict| strict.0)
}

/// Returns an error for each of the first 20 unknown parameters of a request: in strict mode all of them, otherwise
/// filters, because a search without a filter that the caller meant finds too much. Returns none for a link.
pub(crate) fn errors(request: &HttpRequest, operation: &Operation) -> ValidationErrors {
    let mut errors = ValidationErrors::default();
    // Programs add parameters to links.
    if operation.is_link() {
        return errors;
    }
    let mut names = unknown_names(request.query_string(), operation);
    if !is_strict(request) {
        names.retain(|name| name.starts_with(FILTER_PREFIX));
    }
    for name in names.into_iter().take(MAX_REPORTED) {
        let allowed = json!({ "allowed": operation.parameter_names() });
        errors.push_with(name, Code::Enum, UNKNOWN_MESSAGE, allowed);
    }
    errors
}

/// Refuses unknown parameters of an operation that has neither query parameters nor a JSON body, whose extractors would
/// report them.
///
/// # Errors
/// 400 if a filter or, in strict mode, any parameter is unknown.
pub(crate) fn check_without_extractor(request: &HttpRequest) -> Result<(), ValidationErrors> {
    if request.query_string().is_empty() {
        return Ok(());
    }
    let api = request.app_data::<web::Data<Api>>();
    let operation = api.and_then(|api| Route::of(request).operation(api, request.method()));
    let unchecked = operation.filter(|operation| operation.params.is_none() && operation.body.is_none());
    unchecked.map_or(Ok(()), |operation| errors(request, operation).check())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_and_the_header_has_a_limit() {
        let encode =
            |names: &[&str]| encode_names(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(encode(&[]), "");
        assert_eq!(encode(&["a, b", "c"]), "a%2C%20b,c");
        let long = "x".repeat(5_000);
        assert_eq!(encode(&["a", &long, "b"]), format!("a,{},b", "x".repeat(100)));
        assert_eq!(encode(&["\u{e4}".repeat(3_000).as_str()]), "%C3%A4".repeat(50));
        let many = encode(&[long.as_str(); 1_000]);
        assert_eq!(many.split(',').count(), 20);
        assert!(many.len() <= MAX_HEADER_BYTES);
    }
}
