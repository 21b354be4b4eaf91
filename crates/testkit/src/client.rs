//! Requests and their answers, in the fewest words.

use reqwest::RequestBuilder;
use reqwest::header::HeaderMap;
use reqwest::multipart::Form;
use serde_json::Value;

use crate::User;

/// A request in the making.
pub struct TestRequest(RequestBuilder);

impl TestRequest {
    pub(crate) fn new(request: RequestBuilder) -> Self {
        Self(request)
    }

    /// Sent with this user's token.
    pub fn by(self, user: &User) -> Self {
        self.bearer(&user.token())
    }

    /// Sent with this token.
    pub fn bearer(self, token: &str) -> Self {
        Self(self.0.bearer_auth(token))
    }

    /// With this header.
    pub fn header(self, name: &str, value: &str) -> Self {
        Self(self.0.header(name, value))
    }

    /// With this JSON body.
    pub fn json(self, body: &Value) -> Self {
        Self(self.0.json(body))
    }

    /// With these bytes as its body.
    pub fn body(self, content_type: &str, body: impl Into<reqwest::Body>) -> Self {
        Self(self.0.header("content-type", content_type).body(body))
    }

    /// With this multipart form.
    pub fn form(self, form: Form) -> Self {
        Self(self.0.multipart(form))
    }

    /// Sends it and reads the whole answer.
    pub async fn send(self) -> TestResponse {
        let response = self.0.send().await.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        TestResponse { status, headers, bytes: response.bytes().await.expect("a whole body").to_vec() }
    }
}

/// An answer.
#[derive(Debug)]
pub struct TestResponse {
    /// HTTP status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub bytes: Vec<u8>,
}

impl TestResponse {
    /// The body as JSON; panics with the body if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// A header, empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }

    /// The JSON body of a 200; panics with the body of anything else.
    pub fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }

    /// The `code` of an error with this status; panics with the body of anything else.
    pub fn error(self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()["code"].as_str().expect("a code").to_owned()
    }

    /// `path code` of every validation entry of a 400, sorted.
    pub fn errors(self) -> Vec<String> {
        assert_eq!(self.status, 400, "{}", self.text());
        let body = self.json();
        let entries = body["validation"].as_array().expect("an array").iter();
        let plain = |v: &Value| v.as_str().expect("a text").to_owned();
        let mut errors: Vec<_> =
            entries.map(|e| format!("{} {}", plain(&e["path"]), plain(&e["code"]))).collect();
        errors.sort();
        errors
    }
}
