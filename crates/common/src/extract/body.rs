//! JSON request bodies, validated by the schema of the operation in the OpenAPI document.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpMessage, HttpRequest, web};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::form_urlencoded;

use crate::Error;
use crate::config::Timeouts;
use crate::extract::idempotency::{self, Fingerprint};
use crate::extract::merge_patch::PatchedNames;
use crate::openapi::validator::Schema;
use crate::openapi::{Api, BodyForm, MERGE_PATCH, Operation, Route, unknown_parameters};
use crate::response::validation::{Code, ValidationErrors};

/// The maximum size of a JSON body in bytes (app data). The default is 1 MiB.
#[derive(Clone, Copy)]
pub(crate) struct JsonLimit(pub usize);

/// A JSON body that was validated by its schema. The type has `#[serde(default)]`: otherwise a required member that the
/// schema refuses hides all further errors. Only [`Body::check`], [`Body::check_and_complete`] and
/// [`Body::check_with_files`] give access to it, so that no handler can skip the rules that a schema cannot express.
pub struct Body<T> {
    value: T,
    errors: ValidationErrors,
    /// Identifies repeats of this request.
    pub fingerprint: Fingerprint,
}

impl<T> Body<T> {
    /// Applies further rules. Members that the schema refused have their default value; further errors for them are
    /// dropped.
    ///
    /// # Errors
    /// 400 with the errors of the schema and of the rules.
    pub fn check(mut self, rules: impl FnOnce(&T, &mut ValidationErrors)) -> Result<(T, Fingerprint), Error> {
        rules(&self.value, &mut self.errors);
        self.errors.check()?;
        Ok((self.value, self.fingerprint))
    }

    /// Applies further rules as [`Body::check`] does. If there are errors, `report_more` adds to them, so that checks
    /// which call other services are made only for a request that is refused anyway.
    ///
    /// # Errors
    /// 400 with all errors.
    pub async fn check_and_complete(
        mut self,
        rules: impl FnOnce(&T, &mut ValidationErrors),
        report_more: impl AsyncFnOnce(&T, &mut ValidationErrors),
    ) -> Result<(T, Fingerprint), Error> {
        rules(&self.value, &mut self.errors);
        if !self.errors.is_empty() {
            report_more(&self.value, &mut self.errors).await;
        }
        self.errors.check()?;
        Ok((self.value, self.fingerprint))
    }
}

impl<T: DeserializeOwned + 'static> FromRequest for Body<T> {
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Error>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let api = request.app_data::<web::Data<Api>>().cloned();
            let route = Route::of(&request);
            let operation = api.as_ref().and_then(|api| route.operation(api, request.method()));
            let bytes = read_json(&request, payload, operation).await?;
            let fingerprint = Fingerprint::of(&request, &bytes);
            let Some((operation, schema)) = operation.and_then(|o| Some((o, o.body.as_ref()?))) else {
                return Err(Error::Internal(anyhow::anyhow!("{:?} documents no JSON body", route.pattern())));
            };
            parse(&request, &bytes, fingerprint, operation, schema)
        })
    }
}

/// Reads the body of an operation that documents none, since its bytes identify a repeated request.
impl FromRequest for Fingerprint {
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Error>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let bytes = read(&request, payload).await?;
            idempotency::key_errors(&request).check()?;
            Ok(Self::of(&request, &bytes))
        })
    }
}

/// Reads a JSON body. Where the body is optional, the media type of an empty one does not matter.
async fn read_json(
    request: &HttpRequest,
    payload: Payload,
    operation: Option<&Operation>,
) -> Result<web::BytesMut, Error> {
    let is_encoded =
        request.headers().get(header::CONTENT_ENCODING).is_some_and(|coding| coding != "identity");
    let media_type = request.content_type();
    let is_patch = operation.is_some_and(|operation| operation.body_form == BodyForm::MergePatch);
    let is_json = media_type.eq_ignore_ascii_case("application/json")
        || is_patch && media_type.eq_ignore_ascii_case(MERGE_PATCH);
    if is_json && !is_encoded {
        return read(request, payload).await;
    }
    if !is_encoded && operation.is_some_and(|operation| operation.body_is_optional) {
        let bytes = read(request, payload).await?;
        if bytes.is_empty() {
            return Ok(bytes);
        }
    }
    Err(Error::UnsupportedMediaType(if is_patch {
        "application/merge-patch+json or application/json, not compressed"
    } else {
        "application/json, not compressed"
    }))
}

/// Reads a whole body within the limits of size and time (docs/api/conventions.md, "Size limits").
pub(super) async fn read(request: &HttpRequest, payload: Payload) -> Result<web::BytesMut, Error> {
    let timeout = Timeouts::of(request).stalled;
    let body = tokio::time::timeout(timeout, read_within_limit(request, payload)).await;
    body.unwrap_or_else(|_| Err(Error::malformed_body("it was not sent in time")))
}

async fn read_within_limit(request: &HttpRequest, mut payload: Payload) -> Result<web::BytesMut, Error> {
    let limit = request.app_data::<web::Data<JsonLimit>>().map_or(1 << 20, |limit| limit.0);
    let content_length =
        request.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    if content_length.is_some_and(|length| length > limit) {
        return Err(Error::PayloadTooLarge(limit));
    }
    let mut bytes = web::BytesMut::with_capacity(content_length.unwrap_or(0));
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| Error::malformed_body("it is truncated"))?;
        if bytes.len() + chunk.len() > limit {
            return Err(Error::PayloadTooLarge(limit));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn parse<T: DeserializeOwned>(
    request: &HttpRequest,
    bytes: &[u8],
    fingerprint: Fingerprint,
    operation: &Operation,
    schema: &Schema,
) -> Result<Body<T>, Error> {
    // Some editors and Excel begin a file with a byte order mark.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let bytes = if bytes.is_empty() && operation.body_is_optional { b"{}" } else { bytes };
    let mut value: Value = serde_json::from_slice(bytes).map_err(|error| {
        Error::malformed_body(if bytes.is_empty() { "it is empty".into() } else { error.to_string() })
    })?;
    let mut errors =
        if operation.takes_key { idempotency::key_errors(request) } else { ValidationErrors::default() };
    if operation.params.is_none() {
        errors.extend(unknown_parameters::errors(request, operation));
    }
    if operation.body_form == BodyForm::OneOrArray
        && let Value::Array(items) = &mut value
    {
        if items.len() != 1 {
            errors.push("", Code::Length, "must be one object, or an array of exactly one");
            return Err(Error::Validation(errors));
        }
        value = items.remove(0);
    }
    let is_patch = operation.body_form == BodyForm::MergePatch;
    let patch = if is_patch { Some((PatchedNames::of(&value)?, value.clone())) } else { None };
    errors.extend(if is_patch { schema.check_patch(&mut value) } else { schema.check(&mut value) });
    let value = match patch {
        Some((names, patch)) => names.with_members(value, patch),
        None => value,
    };
    match serde_json::from_value(value) {
        Ok(value) => Ok(Body { value, errors, fingerprint }),
        Err(error) => {
            // `Schema::check` removes what the type cannot represent, unless there are too many errors.
            if errors.is_empty() {
                errors.push("", Code::Type, error.to_string());
            }
            Err(Error::Validation(errors))
        }
    }
}

const MEDIA_TYPE: &str = "application/x-www-form-urlencoded";

/// The names and values of a form, in their order.
pub struct FormBody(pub Vec<(String, String)>);

impl FromRequest for FormBody {
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Error>>>>;

    /// # Errors
    /// 415 for another media type or a compressed body, 413 for a body that is larger than a JSON body may be.
    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            unknown_parameters::check_without_extractor(&request)?;
            let coding = request.headers().get(header::CONTENT_ENCODING);
            let is_plain = coding.is_none_or(|coding| coding == "identity");
            if !is_plain || !request.content_type().eq_ignore_ascii_case(MEDIA_TYPE) {
                return Err(Error::UnsupportedMediaType("application/x-www-form-urlencoded, not compressed"));
            }
            let bytes = read(&request, payload).await?;
            Ok(Self(form_urlencoded::parse(&bytes).into_owned().collect()))
        })
    }
}
