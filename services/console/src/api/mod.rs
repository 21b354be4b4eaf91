//! Calls of the three services, each with the token of the person who is logged in.

pub(crate) mod batch;
pub(crate) mod connections;
pub(crate) mod market;
pub(crate) mod model;

use std::time::Duration;

use actix_web::http::StatusCode;
use anyhow::anyhow;
use common::RequestContext;
use reqwest::header;
use reqwest::multipart::Form;
use reqwest::{Client, Method, RequestBuilder, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::config::Settings;

/// Time for the answer of a probe. Orchestrators wait only one second for `/readyz`.
const PROBE_TIMEOUT: Duration = Duration::from_millis(700);

/// Time, media types and size of what is read besides the API.
const PEEK_TIMEOUT: Duration = Duration::from_secs(3);
const PEEK_TYPES: &str = "application/json, text/plain;q=0.9";
const MAX_PEEK_BYTES: usize = 8 << 20;

/// Time for an erasure, which a service works at for up to 20 seconds.
const SLOW_TIMEOUT: Duration = Duration::from_secs(40);

/// Time for a file to be stored.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(600);

/// Time for a download or a stream of events, which the services end after 30 minutes.
const OPEN_TIMEOUT: Duration = Duration::from_secs(3600);

/// What is wrong with a name that is in no address book, or that several have.
const NOBODY: &str =
    "is the name or id of nobody in your address book, or the name of several: choose one of the suggestions";

/// A service that the console calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    System,
    Logistics,
    Livestock,
}

impl Service {
    pub(crate) const ALL: [Self; 3] = [Self::System, Self::Logistics, Self::Livestock];

    /// Returns the name of the program.
    pub(crate) fn name(self) -> &'static str {
        ["system", "logistics", "livestock"][self as usize]
    }

    /// Returns what people miss while the service is away.
    pub(crate) fn contents(self) -> &'static str {
        ["files", "loads", "the market"][self as usize]
    }
}

/// Why a call did not succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The service does not answer, or answers that it cannot.
    #[error("{} is away: {cause:#}", service.name())]
    Away { service: Service, cause: anyhow::Error },
    /// The service refuses the token.
    #[error("the token is refused")]
    LoggedOut,
    /// The service refuses the request.
    #[error("{}: {}", .0.status, .0.message)]
    Refused(Box<Refusal>),
}

/// An error response of a service (docs/api/errors.md).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Refusal {
    /// The status of the response.
    #[serde(skip)]
    pub(crate) status: u16,
    pub(crate) code: String,
    /// One sentence for a person.
    pub(crate) message: String,
    pub(crate) body: RefusalDetails,
    /// One entry for each invalid field.
    pub(crate) validation: Vec<FieldError>,
}

/// The member `body` of an error.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct RefusalDetails {
    pub(crate) request_id: String,
    pub(crate) reason: Option<String>,
}

/// An entry of `validation`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FieldError {
    pub(crate) path: String,
    pub(crate) message: String,
}

impl CallError {
    /// Returns the refusal if it has this status.
    pub(crate) fn refused_with(&self, status: StatusCode) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) if refusal.status == status.as_u16() => Some(refusal),
            _ => None,
        }
    }
}

/// What the system service returns for a file.
#[derive(Deserialize)]
struct Stored {
    id: String,
}

impl Refusal {
    /// Returns the status for the page that says why.
    pub(crate) fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST)
    }
}

impl FieldError {
    /// Returns an error that belongs to no field.
    pub(crate) fn of_form(message: impl Into<String>) -> Self {
        Self { path: String::new(), message: message.into() }
    }

    /// Returns the error of a field that names nobody of the address book.
    pub(crate) fn nobody(path: &str) -> Self {
        Self { path: path.to_owned(), message: NOBODY.to_owned() }
    }

    /// Returns true for the error of a field that names nobody of the address book.
    pub(crate) fn is_nobody(&self) -> bool {
        self.message == NOBODY
    }
}

/// A successful response.
#[derive(Debug)]
pub(crate) struct Reply<T> {
    pub(crate) value: T,
    /// `X-Total-Count`.
    pub(crate) total: Option<u64>,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
}

/// The addresses of the services, and the client.
pub(crate) struct Api {
    client: Client,
    addresses: [String; 3],
}

impl Api {
    /// Creates the client.
    ///
    /// # Errors
    /// Fails if the system has no usable TLS configuration.
    pub(crate) fn new(settings: &Settings) -> anyhow::Result<Self> {
        let addresses = [&settings.system_url, &settings.logistics_url, &settings.livestock_url];
        Ok(Self {
            client: common::http::client(Duration::from_millis(settings.timeout_ms))?,
            addresses: addresses.map(|address| address.trim_end_matches('/').to_owned()),
        })
    }

    /// Returns an error unless the service answers a probe.
    pub(crate) async fn probe(&self, service: Service) -> anyhow::Result<()> {
        let url = format!("{}/healthz", self.addresses[service as usize]);
        let response = self.client.get(url).timeout(PROBE_TIMEOUT).send().await;
        let response = response.map_err(|error| explained(error, &self.addresses[service as usize]))?;
        anyhow::ensure!(response.status().is_success(), "it answers {}", response.status());
        Ok(())
    }

    /// Reads a page of a service that is not of its API, such as `/readyz`, whatever its status.
    ///
    /// # Errors
    /// The service does not answer in time, or answers too much.
    pub(crate) async fn peek(&self, service: Service, path: &str) -> anyhow::Result<String> {
        let url = format!("{}{path}", self.addresses[service as usize]);
        let request = self.client.get(url).timeout(PEEK_TIMEOUT).header(header::ACCEPT, PEEK_TYPES);
        let mut response = request.send().await.map_err(reqwest::Error::without_url)?;
        let mut text = Vec::new();
        while let Some(part) = response.chunk().await.map_err(reqwest::Error::without_url)? {
            anyhow::ensure!(text.len() + part.len() <= MAX_PEEK_BYTES, "it answers too much");
            text.extend_from_slice(&part);
        }
        Ok(String::from_utf8(text)?)
    }
}

/// The services as a person or a visitor may use them.
pub(crate) struct Caller<'a> {
    pub(crate) api: &'a Api,
    pub(crate) authority: Authority<'a>,
    pub(crate) context: &'a RequestContext,
}

/// What a call is sent with, by which a service knows who sends it.
#[derive(Clone, Copy)]
pub(crate) enum Authority<'a> {
    /// The access token of a person.
    Token(&'a str),
    /// The value of `X-Forwarded-For`: the addresses from which the request of a visitor came. The service limits the
    /// requests of each visitor, if it trusts the console as a proxy.
    Addresses(&'a str),
}

/// A write: what it carries besides its body.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Write<'a> {
    /// `Idempotency-Key`.
    pub(crate) key: Option<&'a str>,
    /// `If-Match`.
    pub(crate) revision: Option<&'a str>,
}

impl Caller<'_> {
    /// Begins a call. `path` begins with `/v1/`. An id that is `.` or `..` would lead to another path.
    fn call(&self, service: Service, method: Method, path: &str) -> Result<RequestBuilder, CallError> {
        if path.split('?').next().unwrap_or_default().split('/').any(|part| [".", ".."].contains(&part)) {
            return Err(CallError::Refused(Box::new(Refusal { status: 404, ..Refusal::default() })));
        }
        Ok(self.begin(service, method, path))
    }

    fn begin(&self, service: Service, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.api.addresses[service as usize]);
        let request = self.api.client.request(method, url);
        let request = match self.authority {
            Authority::Token(token) => request.bearer_auth(token),
            Authority::Addresses(addresses) => request.header("x-forwarded-for", addresses),
        };
        request.header("x-request-id", &self.context.id).header("traceparent", self.context.traceparent())
    }

    /// Reads a resource or a list. `path` may have a query, and each of `query` is added.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        service: Service,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Reply<T>, CallError> {
        let path = with_query(path, query);
        let request = self.call(service, Method::GET, &path)?;
        let response = self.send(service, request).await?;
        let total = header_text(&response, "x-total-count").and_then(|total| total.parse().ok());
        let next = header_text(&response, header::LINK.as_str()).and_then(next_cursor);
        let value = response.json().await.map_err(|error| away(service, error.into()))?;
        Ok(Reply { value, total, next })
    }

    /// Sends a write, and returns the body of the response.
    pub(crate) async fn send_json(
        &self,
        service: Service,
        method: Method,
        path: &str,
        body: Option<&Value>,
        write: Write<'_>,
    ) -> Result<Value, CallError> {
        let mut request = self.call(service, method, path)?;
        if let Some(body) = body {
            request = request.json(body);
        }
        if let Some(key) = write.key {
            request = request.header("idempotency-key", key);
        }
        if let Some(revision) = write.revision {
            request = request.header(header::IF_MATCH, format!("\"{revision}\""));
        }
        let response = self.send(service, request).await?;
        response.json().await.map_err(|error| away(service, error.into()))
    }

    /// Sends a write without a body that takes long.
    pub(crate) async fn send_slow(&self, service: Service, path: &str) -> Result<Value, CallError> {
        let request = self.call(service, Method::POST, path)?;
        let response = self.send(service, request.timeout(SLOW_TIMEOUT)).await?;
        response.json().await.map_err(|error| away(service, error.into()))
    }

    /// Stores a file, and returns its id. `key`: its idempotency key.
    pub(crate) async fn upload(
        &self,
        service: Service,
        form: Form,
        key: Option<&str>,
    ) -> Result<String, CallError> {
        let mut request = self.call(service, Method::POST, "/v1/files")?;
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        // A photograph takes longer than a page may.
        let sent = self.send(service, request.timeout(UPLOAD_TIMEOUT).multipart(form)).await;
        let response = sent.map_err(|error| match error {
            CallError::Refused(refusal) if refusal.code == "idempotency_in_progress" => {
                away(service, anyhow!("it still stores the file that was sent before"))
            }
            error => error,
        })?;
        let stored: Stored = response.json().await.map_err(|error| away(service, error.into()))?;
        Ok(stored.id)
    }

    /// Opens a download or a stream of events. `headers` of the browser's request are passed on.
    pub(crate) async fn open(
        &self,
        service: Service,
        path: &str,
        query: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Result<Response, CallError> {
        let path = with_query(path, query);
        let request = self.call(service, Method::GET, &path)?;
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        self.send(service, request.timeout(OPEN_TIMEOUT)).await
    }

    async fn send(&self, service: Service, request: RequestBuilder) -> Result<Response, CallError> {
        let sent = request.send().await;
        let response =
            sent.map_err(|error| away(service, explained(error, &self.api.addresses[service as usize])))?;
        let response = available(service, response)?;
        let status = response.status().as_u16();
        if status < 400 {
            return Ok(response);
        }
        let refusal: Refusal = response.json().await.unwrap_or_default();
        Err(CallError::Refused(Box::new(Refusal { status, ..refusal })))
    }
}

/// Returns the response unless the service is away or refuses the token.
fn available(service: Service, response: Response) -> Result<Response, CallError> {
    match response.status() {
        status if status.as_u16() == 401 => Err(CallError::LoggedOut),
        status if status.is_server_error() => Err(away(service, anyhow!("it answers {status}"))),
        _ => Ok(response),
    }
}

fn away(service: Service, cause: anyhow::Error) -> CallError {
    CallError::Away { service, cause }
}

/// Returns the error of a call without its URL.
fn explained(error: reqwest::Error, address: &str) -> anyhow::Error {
    let host = Url::parse(address).ok().and_then(|url| url.host_str().map(str::to_owned));
    common::http::explain_unresolved(error.without_url().into(), &host.unwrap_or_default())
}

fn header_text<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

/// Adds parameters to a path, encoded.
pub(crate) fn with_query(path: &str, query: &[(&str, &str)]) -> String {
    if query.is_empty() {
        return path.to_owned();
    }
    let mut encoded = url::form_urlencoded::Serializer::new(String::new());
    encoded.extend_pairs(query);
    format!("{path}{}{}", if path.contains('?') { '&' } else { '?' }, encoded.finish())
}

/// Encodes a text as a segment of a path.
pub(crate) fn segment(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

/// Returns the cursor in the `next` link of a `Link` header (RFC 8288).
fn next_cursor(links: &str) -> Option<String> {
    let next = links.split(',').find(|link| link.contains("rel=\"next\""))?;
    let target = next.split_once('<')?.1.split_once('>')?.0;
    let (_, query) = target.split_once('?')?;
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == "cursor").map(|(_, cursor)| cursor.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_cursor_is_in_the_link() {
        let links = "<http://h/v1/loads?limit=1>; rel=\"first\", <http://h/v1/loads?limit=1&cursor=a%2Bb>; rel=\"next\"";
        assert_eq!(next_cursor(links).as_deref(), Some("a+b"));
        assert_eq!(next_cursor("<http://h/v1/loads>; rel=\"first\""), None);
    }

    #[test]
    fn texts_are_encoded_in_paths_and_queries() {
        assert_eq!(segment("a/b c?é"), "a%2Fb%20c%3F%C3%A9");
        assert_eq!(with_query("/v1/loads", &[("f:tag", "a&b")]), "/v1/loads?f%3Atag=a%26b");
        assert_eq!(with_query("/v1/loads?x=1", &[("y", "2")]), "/v1/loads?x=1&y=2");
    }
}
