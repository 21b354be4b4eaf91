//! JSON request bodies: read within the limit, validated by the operation's published schema.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpMessage, HttpRequest, web};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::clients::files::FileClient;
use crate::extract::idempotency::{self, Fingerprint};
use crate::openapi::Api;
use crate::response::validation::{Code, ValidationErrors};
use crate::service::connection::Timeouts;
use crate::wire::FileReference;
use crate::{Caller, Error};

/// The most bytes of a JSON body; part of the app's data.
#[derive(Clone, Copy)]
pub struct JsonLimit(pub usize);

/// A JSON body that was checked against its schema, but not yet against the rules that no schema can state:
/// only [`Body::check`] gives it out.
pub struct Body<T> {
    value: T,
    errors: ValidationErrors,
    /// What a repeat of this request must equal.
    pub fingerprint: Fingerprint,
}

impl<T> Body<T> {
    /// Adds what the rules find to what the schema found. Members that failed have their default value here;
    /// a further entry for them is dropped.
    pub fn check(mut self, rules: impl FnOnce(&T, &mut ValidationErrors)) -> Result<(T, Fingerprint), Error> {
        rules(&self.value, &mut self.errors);
        self.errors.check()?;
        Ok((self.value, self.fingerprint))
    }

    /// As [`Body::check`], for a body that names files. If anything is wrong, entries for unknown files are added, so that
    /// all failed fields are reported at once. Otherwise system is not called: the files are then checked when the
    /// request is carried out.
    pub async fn check_with_files(
        mut self,
        rules: impl FnOnce(&T, &mut ValidationErrors),
        client: &FileClient,
        caller: &Caller,
        files: impl FnOnce(&T) -> &[FileReference],
    ) -> Result<(T, Fingerprint), Error> {
        rules(&self.value, &mut self.errors);
        if !self.errors.is_empty() {
            client.report_unknown(caller, files(&self.value), &mut self.errors).await;
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
            let bytes = read(&request, payload).await?;
            let fingerprint = Fingerprint::of(&request, &bytes);
            parse(&request, &bytes, fingerprint)
        })
    }
}

/// Of a request without a documented body: whatever bytes it has.
impl FromRequest for Fingerprint {
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Error>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let bytes = bytes(&request, payload).await?;
            idempotency::errors(&request).check()?;
            Ok(Self::of(&request, &bytes))
        })
    }
}

async fn read(request: &HttpRequest, payload: Payload) -> Result<web::BytesMut, Error> {
    let encoded = request.headers().get(header::CONTENT_ENCODING).is_some_and(|v| v != "identity");
    if !request.content_type().eq_ignore_ascii_case("application/json") || encoded {
        return Err(Error::UnsupportedMediaType("application/json, not compressed"));
    }
    bytes(request, payload).await
}

/// All of a body that keeps the limits of size and time.
async fn bytes(request: &HttpRequest, payload: Payload) -> Result<web::BytesMut, Error> {
    let late = |_| Error::MalformedBody("it stopped coming".into());
    tokio::time::timeout(Timeouts::of(request).stalled, collected(request, payload)).await.map_err(late)?
}

async fn collected(request: &HttpRequest, mut payload: Payload) -> Result<web::BytesMut, Error> {
    let limit = request.app_data::<web::Data<JsonLimit>>().map_or(1 << 20, |l| l.0);
    let announced =
        request.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > limit) {
        return Err(Error::PayloadTooLarge(limit));
    }
    let mut bytes = web::BytesMut::with_capacity(announced.unwrap_or(0));
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| Error::MalformedBody("it was cut off".into()))?;
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
) -> Result<Body<T>, Error> {
    let mut value: Value = serde_json::from_slice(bytes).map_err(|e| {
        Error::MalformedBody(if bytes.is_empty() { "it is empty".into() } else { e.to_string() })
    })?;
    let pattern = request.match_pattern().unwrap_or_default();
    let api = request.app_data::<web::Data<Api>>();
    let operation = api.and_then(|api| api.operation(&pattern, request.method()));
    let Some((operation, schema)) = operation.and_then(|o| Some((o, o.body.as_ref()?))) else {
        return Err(Error::Internal(anyhow::anyhow!("{pattern} documents no JSON body")));
    };
    let mut errors =
        if operation.takes_key { idempotency::errors(request) } else { ValidationErrors::default() };
    if operation.one_or_array
        && let Value::Array(items) = &mut value
    {
        if items.len() != 1 {
            errors.push("", Code::Length, "must be one object, or an array of exactly one");
            return Err(Error::Validation(errors));
        }
        value = items.remove(0);
    }
    errors.extend(schema.check(&mut value));
    match serde_json::from_value(value) {
        Ok(value) => Ok(Body { value, errors, fingerprint }),
        Err(error) => {
            // The schema leaves nothing that the type cannot hold, unless it found too much to take it all out.
            if errors.is_empty() {
                errors.push("", Code::Type, error.to_string());
            }
            Err(Error::Validation(errors))
        }
    }
}
