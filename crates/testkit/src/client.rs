//! An HTTP client for tests.

use reqwest::RequestBuilder;
use reqwest::header::HeaderMap;
use reqwest::multipart::Form;
use serde_json::Value;

use crate::User;

/// A request under construction.
pub struct TestRequest(RequestBuilder);

impl TestRequest {
    pub(crate) fn new(request: RequestBuilder) -> Self {
        Self(request)
    }

    /// Sets the token of this user.
    pub fn by(self, user: &User) -> Self {
        self.bearer(&user.token())
    }

    /// Sets a bearer token.
    pub fn bearer(self, token: &str) -> Self {
        Self(self.0.bearer_auth(token))
    }

    /// Adds a header.
    pub fn header(self, name: &str, value: &str) -> Self {
        Self(self.0.header(name, value))
    }

    /// Sets a JSON body.
    pub fn json(self, body: &Value) -> Self {
        Self(self.0.json(body))
    }

    /// Sets the body and its content type.
    pub fn body(self, content_type: &str, body: impl Into<reqwest::Body>) -> Self {
        Self(self.0.header("content-type", content_type).body(body))
    }

    /// Sets a multipart form as the body.
    pub fn form(self, form: Form) -> Self {
        Self(self.0.multipart(form))
    }

    /// Sends the request and reads the complete response.
    pub async fn send(self) -> TestResponse {
        let response = self.0.send().await.expect("a response");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        TestResponse { status, headers, bytes: response.bytes().await.expect("a complete body").to_vec() }
    }
}

/// A response with its complete body.
#[derive(Debug)]
pub struct TestResponse {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub bytes: Vec<u8>,
}

impl TestResponse {
    /// Parses the body as JSON.
    ///
    /// # Panics
    /// If the body is not JSON, with the body in the message.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    /// Returns the body as text, with replacement characters for invalid UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Returns a header's value, or an empty string without the header.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    /// Returns the JSON body of a 200 response.
    ///
    /// # Panics
    /// If the status is another, with the body in the message.
    pub fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }

    /// Returns the `code` of an error response with this status.
    ///
    /// # Panics
    /// If the status is another, with the body in the message.
    pub fn error(self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()["code"].as_str().expect("a code").to_owned()
    }

    /// Returns `path code` of every entry of `validation` in a 400 response, sorted.
    ///
    /// # Panics
    /// If the status is another, with the body in the message.
    pub fn errors(self) -> Vec<String> {
        assert_eq!(self.status, 400, "{}", self.text());
        let body = self.json();
        let entries = body["validation"].as_array().expect("an array").iter();
        let text = |v: &Value| v.as_str().expect("a string").to_owned();
        let mut errors: Vec<_> =
            entries.map(|e| format!("{} {}", text(&e["path"]), text(&e["code"]))).collect();
        errors.sort();
        errors
    }
}
