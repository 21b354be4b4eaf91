//! A small blocking HTTP client that returns every response, whatever its status, and a small server for tests.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use ureq::http::request::Builder;
use ureq::http::{HeaderMap, Request};

/// Limit of a response body: more than the largest export of the bench.
const MAX_BODY_BYTES: u64 = 1024 * 1024 * 1024;

/// Idle connections that a client keeps open.
pub const MAX_IDLE_CONNECTIONS: usize = 16;

/// A request body.
#[derive(Debug)]
pub enum Body {
    /// No body.
    Empty,
    /// JSON.
    Json(Value),
    /// A multipart form with a file.
    Form(Form),
}

/// A response.
#[derive(Debug)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Reason phrase of the status.
    pub reason: &'static str,
    /// Response headers.
    pub headers: HeaderMap,
    /// Body.
    pub bytes: Vec<u8>,
    /// Body as JSON, `null` if it is not JSON.
    pub json: Value,
}

impl Response {
    /// The cursor in the link to the next page.
    pub fn cursor(&self) -> Option<&str> {
        self.header("link").split("cursor=").nth(1)?.split(['>', '&']).next()
    }

    /// A header as text, empty if it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// The client. It keeps connections open between requests.
#[derive(Debug)]
pub struct HttpClient(ureq::Agent);

impl HttpClient {
    /// A client with a timeout for a whole response.
    pub fn new(timeout: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(timeout))
            .max_redirects(0)
            .proxy(None) // the services are on this machine
            .max_idle_connections(MAX_IDLE_CONNECTIONS)
            .max_idle_connections_per_host(MAX_IDLE_CONNECTIONS)
            .build();
        Self(config.into())
    }

    /// Sends a request.
    ///
    /// # Errors
    /// No response was received, or it broke off. A status is never an error.
    pub fn send(&self, method: &str, url: &str, token: Option<&str>, body: &Body) -> Result<Response> {
        self.send_with(method, url, token, &[], body)
    }

    /// Sends a request with further headers. A JSON body may have another `content-type`, in lower case.
    pub fn send_with(
        &self,
        method: &str,
        url: &str,
        token: Option<&str>,
        headers: &[(&str, &str)],
        body: &Body,
    ) -> Result<Response> {
        let request = request(method, url, token, headers);
        let has_type = headers.iter().any(|(name, _)| *name == "content-type");
        let sent = match body {
            Body::Json(json) if has_type => self.0.run(request.body(json.to_string())?),
            Body::Empty => self.0.run(request.body(())?),
            Body::Json(json) => {
                self.0.run(request.header("content-type", "application/json").body(json.to_string())?)
            }
            Body::Form(form) => {
                self.0.run(request.header("content-type", Form::content_type()).body(form.encode())?)
            }
        };
        let mut response = sent.with_context(|| format!("no response from {url}"))?;
        let bytes = response
            .body_mut()
            .with_config()
            .limit(MAX_BODY_BYTES)
            .read_to_vec()
            .with_context(|| format!("the response from {url} broke off"))?;
        Ok(Response {
            status: response.status().as_u16(),
            reason: response.status().canonical_reason().unwrap_or_default(),
            headers: response.headers().clone(),
            json: serde_json::from_slice(&bytes).unwrap_or_default(),
            bytes,
        })
    }

    /// Sends a GET request with further headers and returns the body of the response, to be read as it arrives.
    ///
    /// # Errors
    /// There was no response, or its status is not 200.
    pub fn open(&self, url: &str, token: &str, headers: &[(&str, &str)]) -> Result<impl BufRead + use<>> {
        let sent = self.0.run(request("GET", url, Some(token), headers).body(())?);
        let response = sent.with_context(|| format!("no response from {url}"))?;
        ensure!(response.status() == 200, "{url} returned {}", response.status());
        Ok(BufReader::new(response.into_body().into_reader()))
    }
}

/// A server-sent event.
#[derive(Debug, Clone)]
pub struct ServerSentEvent {
    /// Its `id`: where a stream that ends goes on.
    pub id: String,
    /// Its `data`.
    pub data: Value,
}

impl HttpClient {
    /// Follows a stream of server-sent events from after an id.
    ///
    /// # Errors
    /// There was no response, or its status is not 200. The iterator ends with an error or with the stream.
    pub fn events(
        &self,
        url: &str,
        token: &str,
        after: Option<&str>,
    ) -> Result<impl Iterator<Item = Result<ServerSentEvent>> + use<>> {
        let after: Vec<_> = after.map(|id| ("last-event-id", id)).into_iter().collect();
        let mut lines = self.open(url, token, &after)?.lines();
        Ok(std::iter::from_fn(move || {
            let (mut id, mut data) = (None, None);
            loop {
                let line = match lines.next()? {
                    Ok(line) => line,
                    Err(error) => return Some(Err(error.into())),
                };
                match line.split_once(": ") {
                    Some(("id", text)) => id = Some(text.to_owned()),
                    Some(("data", text)) => data = Some(text.to_owned()),
                    _ => {}
                }
                if line.is_empty()
                    && let Some((id, data)) = id.take().zip(data.take())
                {
                    let data = serde_json::from_str(&data).map_err(Into::into);
                    return Some(data.map(|data| ServerSentEvent { id, data }));
                }
            }
        }))
    }
}

/// A request with headers and perhaps a token.
fn request(method: &str, url: &str, token: Option<&str>, headers: &[(&str, &str)]) -> Builder {
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    match token {
        Some(token) => request.header("authorization", format!("Bearer {token}")),
        None => request,
    }
}

const BOUNDARY: &str = "drover-boundary-9f27c1b04e6d4a13";

/// A form: text fields and one file in the part `file`.
#[derive(Debug, Clone)]
pub struct Form {
    /// Names and values.
    pub fields: Vec<(&'static str, String)>,
    /// Name of the file.
    pub file_name: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// Content, which must not contain the boundary.
    pub content: Cow<'static, [u8]>,
}

impl Form {
    /// The `Content-Type` of [`Form::encode`].
    pub fn content_type() -> String {
        format!("multipart/form-data; boundary={BOUNDARY}")
    }

    /// Encodes the form.
    pub fn encode(&self) -> Vec<u8> {
        let part = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=");
        let fields = self.fields.iter().map(|(name, value)| format!("{part}\"{name}\"\r\n\r\n{value}\r\n"));
        let (file, media) = (self.file_name, self.media_type);
        let head = fields.collect::<String>()
            + &format!("{part}\"file\"; filename=\"{file}\"\r\nContent-Type: {media}\r\n\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.content);
        bytes.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
        bytes
    }
}

/// A received request.
#[derive(Debug, Default, Clone)]
pub struct ReceivedRequest {
    /// Method and path.
    pub line: String,
    /// Headers by lower-case name.
    pub headers: BTreeMap<String, String>,
    /// Body.
    pub body: Vec<u8>,
}

impl ReceivedRequest {
    /// A header, or an empty string.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// Answers each request with 200 and the JSON that `answer` returns, or with 503 if it returns none. Returns the port.
/// The listener runs until this program ends.
pub fn listen(answer: impl Fn(ReceivedRequest) -> Option<String> + Send + Sync + 'static) -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port for a listener")?;
    let port = listener.local_addr()?.port();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            thread::spawn(move || {
                while let Some(request) = read_request(&stream) {
                    let body = answer(request);
                    let status = if body.is_some() { "200 OK" } else { "503 Service Unavailable" };
                    let body = body.unwrap_or_default();
                    let head = format!(
                        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                        body.len()
                    );
                    if stream.write_all((head + &body).as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    Ok(port)
}

/// Reads a request, or none at the end of the connection. Clients must not pipeline.
fn read_request(stream: &TcpStream) -> Option<ReceivedRequest> {
    let (mut reader, mut request) = (BufReader::new(stream), ReceivedRequest::default());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|size| *size > 0)?;
        if request.line.is_empty() {
            line.trim().clone_into(&mut request.line);
        } else if let Some((name, value)) = line.split_once(':') {
            request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        } else {
            break;
        }
    }
    let length = request.headers.get("content-length").map_or(Some(0), |length| length.parse().ok())?;
    request.body.resize(length, 0);
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_its_fields_then_its_file() {
        let form = Form {
            fields: vec![("bucket", "images".into())],
            file_name: "a.jpg",
            media_type: "image/jpeg",
            content: Cow::Borrowed(b"\xff\xd8"),
        };
        let encoded = form.encode();
        let text = String::from_utf8_lossy(&encoded);
        let parts: Vec<&str> = text.split(&format!("--{BOUNDARY}")).collect();
        assert_eq!(parts.len(), 4, "{text}");
        assert_eq!(parts[1], "\r\nContent-Disposition: form-data; name=\"bucket\"\r\n\r\nimages\r\n");
        assert!(parts[2].contains("name=\"file\"; filename=\"a.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n"));
        assert_eq!(parts[3], "--\r\n");
        assert!(encoded.windows(4).any(|bytes| bytes == b"\xff\xd8\r\n"));
    }
}
