//! Requests to the services: token, idempotency key, retries, `Retry-After`, pages.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::TryStreamExt;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, LINK, RETRY_AFTER};
use reqwest::multipart::{Form, Part};
use reqwest::{Body, Method, Response, Url};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio_util::io::ReaderStream;
use uuid::Uuid;

use crate::error::{Failure, Refusal, of_file};
use crate::http::{chain, http, upload_http};
use crate::output::{self, Output, Progress};
use crate::profile::Service;
use crate::session::Session;

const MAX_ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// A service that asks for a longer pause is not waited for.
const MAX_PAUSE: Duration = Duration::from_secs(60);
const MAX_PAGE_ROWS: usize = 100;

/// A file of a form.
#[derive(Clone, Debug)]
pub struct FormFile {
    /// Its name in the form.
    pub name: String,
    /// Where its content is.
    pub content: Content,
}

impl FormFile {
    /// Makes a file of a form from a path.
    pub fn new(path: &Path) -> Result<Self, Failure> {
        let missing = || Failure::Usage(format!("{} is not a file.", path.display()));
        let name = path.file_name().ok_or_else(missing)?.to_string_lossy().into_owned();
        Ok(Self { name, content: Content::File(path.to_owned()) })
    }
}

/// The content of a file of a form.
#[derive(Clone, Debug)]
pub enum Content {
    /// A file, which is streamed.
    File(PathBuf),
    /// Bytes in memory.
    Bytes(Vec<u8>),
}

/// The body of a request.
#[derive(Clone, Debug)]
pub enum Payload {
    /// No body.
    None,
    /// JSON.
    Json(Value),
    /// A multipart form: texts, then files in the field `file`.
    Form(Vec<(String, String)>, Vec<FormFile>),
}

/// A request to a service.
#[derive(Clone, Debug)]
pub struct Request {
    /// The service.
    pub service: Service,
    /// The method.
    pub method: Method,
    /// The path, from `/v1`.
    pub path: String,
    /// The query parameters.
    pub query: Vec<(String, String)>,
    /// The body.
    pub payload: Payload,
    /// The idempotency key, the same in every attempt. Requests that read have none.
    pub key: Option<String>,
}

impl Request {
    /// Makes a request that reads.
    pub fn get(service: Service, path: impl Into<String>) -> Self {
        let (method, path) = (Method::GET, path.into());
        Self { service, method, path, query: Vec::new(), payload: Payload::None, key: None }
    }

    /// Makes a request that writes. Without a key, it gets a new one.
    pub fn post(service: Service, path: impl Into<String>, payload: Payload, key: Option<String>) -> Self {
        let key = Some(key.unwrap_or_else(|| Uuid::new_v4().to_string()));
        Self { method: Method::POST, payload, key, ..Self::get(service, path) }
    }

    /// Adds a query parameter, if there is a value.
    #[must_use]
    pub fn with(mut self, name: &str, value: Option<impl ToString>) -> Self {
        self.query.extend(value.map(|value| (name.to_owned(), value.to_string())));
        self
    }

    /// Prints what would be sent, for `--dry-run`.
    pub fn show(&self, base: &Url, output: Output) -> Result<(), Failure> {
        let mut url = join(base, &self.path)?;
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        let body = match &self.payload {
            Payload::None => Value::Null,
            Payload::Json(body) => body.clone(),
            Payload::Form(fields, files) => {
                let fields: serde_json::Map<_, _> =
                    fields.iter().map(|(n, v)| (n.clone(), json!(v))).collect();
                json!({"fields": fields, "files": files.iter().map(|file| &file.name).collect::<Vec<_>>()})
            }
        };
        if output.json {
            let url = url.as_str();
            return output::json(
                &json!({"dryRun": true, "method": self.method.as_str(), "url": url, "body": body}),
            );
        }
        output::line(&format!("{} {url}", self.method))?;
        if body.is_null() { Ok(()) } else { output::line(&format!("{body:#}")) }
    }
}

/// The client of the three services.
pub struct Client {
    /// The HTTP client, without a token.
    pub http: reqwest::Client,
    uploads: reqwest::Client,
    urls: [Option<Url>; 3],
    session: Mutex<Session>,
}

impl Client {
    /// Makes the client of a session.
    pub fn new(session: Session) -> Result<Self, Failure> {
        Ok(Self {
            http: http()?,
            uploads: upload_http()?,
            urls: session.urls.clone(),
            session: Mutex::new(session),
        })
    }

    /// Returns the base URL of a service.
    pub fn url(&self, service: Service) -> Result<&Url, Failure> {
        let name = service.name();
        let missing =
            || Failure::Usage(format!("The base URL of {name} is missing. Set it with --{name}-url."));
        self.urls[service as usize].as_ref().ok_or_else(missing)
    }

    /// Returns a claim of the caller's token.
    pub async fn claim(&self, name: &str) -> Result<Option<String>, Failure> {
        self.session.lock().await.claim(&self.http, name).await
    }

    /// Sends a request and returns the successful response. Temporary failures are retried.
    pub async fn send(&self, request: &Request) -> Result<Response, Failure> {
        let mut pause = FIRST_PAUSE;
        let mut is_renewed = false;
        let mut attempt = 1;
        loop {
            let token = if request.path.starts_with("/v1/public/") {
                None
            } else {
                Some(self.session.lock().await.token(&self.http).await?)
            };
            let mut builder = self.builder(request).await?;
            if let Some(token) = token {
                let value = HeaderValue::from_str(&format!("Bearer {}", token.reveal()));
                let mut value =
                    value.map_err(|_| Failure::NotLoggedIn("The token is malformed.".to_owned()))?;
                value.set_sensitive(true);
                builder = builder.header(AUTHORIZATION, value);
            }
            let (failure, wanted) = match builder.send().await {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) => {
                    let wanted = retry_after(response.headers());
                    let status = response.status().as_u16();
                    let body = response.bytes().await.unwrap_or_default();
                    let refusal = Refusal::new(status, &body);
                    if status == 401 && !is_renewed && self.session.lock().await.renew(&self.http).await? {
                        is_renewed = true;
                        continue;
                    }
                    if !refusal.is_temporary() {
                        return Err(with_key(refusal.into(), request));
                    }
                    (refusal.into(), wanted)
                }
                Err(error) => (self.unreachable(request, &error), None),
            };
            let next = wanted.unwrap_or(pause);
            if attempt == MAX_ATTEMPTS || next > MAX_PAUSE {
                return Err(with_key(failure, request));
            }
            tokio::time::sleep(next).await;
            pause *= 2;
            attempt += 1;
        }
    }

    /// Sends a request and returns the JSON of the response.
    pub async fn json(&self, request: &Request) -> Result<Value, Failure> {
        let response = self.send(request).await?;
        let body =
            response.bytes().await.map_err(|error| with_key(self.unreachable(request, &error), request))?;
        let wrong = format!("The response of {} is not JSON.", request.service.name());
        serde_json::from_slice(&body).map_err(|_| with_key(Failure::Unreachable(wrong), request))
    }

    /// Reads the rows of a list, page by page, until there are `limit`.
    pub async fn rows(&self, request: &Request, limit: usize) -> Result<Vec<Value>, Failure> {
        let mut rows = Vec::new();
        let page_rows = limit.min(MAX_PAGE_ROWS);
        let first = request.clone().with("limit", Some(page_rows));
        let mut page = first.clone();
        loop {
            let response = self.send(&page).await?;
            let (next, has_links) = (next_query(response.headers()), response.headers().contains_key(LINK));
            let body = response.bytes().await.map_err(|error| self.unreachable(&page, &error))?;
            let wrong = |_| Failure::Unreachable("The service did not answer with a list.".to_owned());
            let found: Vec<Value> = serde_json::from_slice(&body).map_err(wrong)?;
            let is_full = found.len() >= page_rows;
            rows.extend(found);
            match next {
                _ if rows.len() >= limit => break,
                Some(query) => page.query = query,
                // The service omits the header when it would be too long (docs/api/lists.md).
                None if is_full && !has_links => page.query = at_offset(&first.query, rows.len()),
                None => break,
            }
        }
        rows.truncate(limit);
        Ok(rows)
    }

    async fn builder(&self, request: &Request) -> Result<reqwest::RequestBuilder, Failure> {
        let url = join(self.url(request.service)?, &request.path)?;
        let http = if matches!(request.payload, Payload::Form(..)) { &self.uploads } else { &self.http };
        let mut builder = http.request(request.method.clone(), url).query(&request.query);
        if let Some(key) = &request.key {
            builder = builder.header("Idempotency-Key", key);
        }
        Ok(match &request.payload {
            Payload::None => builder,
            Payload::Json(body) => builder.json(body),
            Payload::Form(fields, files) => {
                let mut form = Form::new();
                for (name, value) in fields {
                    form = form.text(name.clone(), value.clone());
                }
                for file in files {
                    form = form.part("file", part(file).await?);
                }
                builder.multipart(form)
            }
        })
    }

    fn unreachable(&self, request: &Request, error: &reqwest::Error) -> Failure {
        let url = self.urls[request.service as usize].as_ref().map(Url::as_str).unwrap_or_default();
        let name = request.service.name();
        Failure::Unreachable(format!("Cannot reach {name} at {url}: {}.", chain(error)))
    }
}

/// Adds the idempotency key to the failure of a request whose outcome is unknown.
pub fn with_key(failure: Failure, request: &Request) -> Failure {
    match (failure, &request.key) {
        (Failure::Unreachable(message), Some(key)) => Failure::Unreachable(format!(
            "{message}\nThe request may have been stored. To repeat it safely, add: --idempotency-key {key}"
        )),
        (failure, _) => failure,
    }
}

/// Opens a file of a form. A large one is streamed, with its progress on the terminal.
async fn part(file: &FormFile) -> Result<Part, Failure> {
    let part = match &file.content {
        Content::Bytes(bytes) => Part::bytes(bytes.clone()),
        Content::File(path) => {
            let opened = tokio::fs::File::open(path).await.map_err(of_file(path, "open"))?;
            let length = opened.metadata().await.map_err(of_file(path, "read"))?.len();
            let mut progress = Progress::new(&file.name, Some(length));
            let stream = ReaderStream::new(opened).inspect_ok(move |chunk| progress.add(chunk.len()));
            Part::stream_with_length(Body::wrap_stream(stream), length)
        }
    };
    Ok(part.file_name(file.name.clone()))
}

/// Appends a path to a base URL, which may have a path of its own.
fn join(base: &Url, path: &str) -> Result<Url, Failure> {
    let text = format!("{}{path}", base.as_str().trim_end_matches('/'));
    Url::parse(&text).map_err(|_| Failure::Usage(format!("{text} is not a URL.")))
}

/// Encodes a value as one segment of a path.
pub fn segment(value: &str) -> Result<String, Failure> {
    // URL parsing drops these segments, so the URL would address another resource.
    if ["", ".", ".."].contains(&value) {
        return Err(Failure::Usage(format!("\"{value}\" is not an id.")));
    }
    Ok(url::form_urlencoded::byte_serialize(value.as_bytes()).collect::<String>().replace('+', "%20"))
}

/// Returns the pause of `Retry-After` in seconds. Services send no dates in it.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

/// Returns a query that skips rows which were read already, besides those that it skips itself.
fn at_offset(query: &[(String, String)], rows: usize) -> Vec<(String, String)> {
    let (offset, mut query): (Vec<_>, Vec<_>) = query.iter().cloned().partition(|(name, _)| name == "offset");
    let own: usize = offset.first().and_then(|(_, value)| value.parse().ok()).unwrap_or_default();
    query.push(("offset".to_owned(), (own + rows).to_string()));
    query
}

/// Returns the query of the link `next`. The host is ignored because a proxy may have changed it.
pub fn next_query(headers: &HeaderMap) -> Option<Vec<(String, String)>> {
    let links = headers.get(LINK)?.to_str().ok()?;
    let next = links.split(", <").find(|link| link.contains("rel=\"next\""))?;
    let target = next.trim_start_matches('<').split('>').next()?;
    let (_, query) = target.split_once('?')?;
    Some(url::form_urlencoded::parse(query.as_bytes()).into_owned().collect())
}

#[cfg(test)]
mod tests {
    use wiremock::matchers::path;
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::*;

    /// Answers once for each response, in their order.
    async fn client(responses: Vec<ResponseTemplate>) -> (MockServer, Client) {
        let server = MockServer::start().await;
        for response in responses {
            Mock::given(path("/v1/loads")).respond_with(response).up_to_n_times(1).mount(&server).await;
        }
        let url = Url::parse(&server.uri()).unwrap();
        let client = Client::new(Session::fixed(&url, "t0ken")).unwrap();
        (server, client)
    }

    fn busy(status: u16, code: &str, seconds: &str) -> ResponseTemplate {
        let body = json!({"message": "Not now.", "code": code});
        ResponseTemplate::new(status).insert_header("Retry-After", seconds).set_body_json(body)
    }

    fn post(key: Option<&str>) -> Request {
        Request::post(Service::Logistics, "/v1/loads", Payload::Json(json!({"a": 1})), key.map(str::to_owned))
    }

    #[tokio::test]
    async fn a_write_is_repeated_with_its_key_until_it_succeeds() {
        let done = ResponseTemplate::new(200).set_body_json(json!({"id": "1"}));
        let responses = vec![
            busy(503, "dependency_unavailable", "0"),
            busy(429, "rate_limited", "0"),
            busy(409, "idempotency_in_progress", "0"),
            done,
        ];
        let (server, client) = client(responses).await;
        assert_eq!(client.json(&post(None)).await.unwrap(), json!({"id": "1"}));
        let requests = server.received_requests().await.unwrap();
        let keys: Vec<_> = requests.iter().map(|request| &request.headers["idempotency-key"]).collect();
        assert_eq!(keys.len(), 4);
        assert!(keys.iter().all(|key| *key == keys[0]));
        assert!(requests.iter().all(|request| request.body == requests[0].body));
    }

    #[tokio::test]
    async fn a_refusal_is_final_and_a_long_pause_is_not_waited_for() {
        let (server, client) =
            client(vec![busy(409, "conflict", "0"), busy(503, "dependency_unavailable", "61")]).await;
        assert_eq!(client.json(&post(None)).await.unwrap_err().exit_code(), 1);
        let failure = client.json(&post(Some("k-1"))).await.unwrap_err();
        assert_eq!(failure.exit_code(), 3);
        assert!(failure.to_string().ends_with("--idempotency-key k-1"), "{failure}");
        assert!(!failure.to_string().contains("t0ken"));
        assert_eq!(server.received_requests().await.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn pages_are_followed_until_there_are_enough_rows() {
        let page = |rows: Value, next: &str| {
            let link = format!("<http://proxy.example/v1/loads?cursor={next}>; rel=\"next\"");
            ResponseTemplate::new(200).insert_header("Link", link.as_str()).set_body_json(rows)
        };
        let (server, client) = client(vec![page(json!([1, 2]), "a"), page(json!([3, 4]), "b")]).await;
        let rows = client.rows(&Request::get(Service::Logistics, "/v1/loads"), 3).await.unwrap();
        assert_eq!(rows, [json!(1), json!(2), json!(3)]);
        let requests = server.received_requests().await.unwrap();
        assert_eq!(
            requests[1].url.query(),
            Some("cursor=a"),
            "the query of the link, at the address of the service"
        );
    }

    #[tokio::test]
    async fn a_list_without_links_continues_by_offset() {
        let page = |rows: usize| ResponseTemplate::new(200).set_body_json(vec![1; rows]);
        let (server, client) = client(vec![page(100), page(100), page(7)]).await;
        let request = Request::get(Service::Logistics, "/v1/loads").with("offset", Some(5));
        assert_eq!(client.rows(&request, usize::MAX).await.unwrap().len(), 207);
        let requests = server.received_requests().await.unwrap();
        assert_eq!(requests[2].url.query(), Some("limit=100&offset=205"));
    }

    #[tokio::test]
    async fn an_unknown_outcome_names_the_key() {
        let page = ResponseTemplate::new(200).set_body_string("<html>");
        let responses = vec![
            busy(500, "internal", "0"),
            page,
            busy(429, "rate_limited", "61"),
            busy(409, "idempotency_in_progress", "61"),
        ];
        let (_server, client) = client(responses).await;
        for _ in 0..4 {
            let failure = client.json(&post(Some("k-1"))).await.unwrap_err();
            assert_eq!(failure.exit_code(), 3);
            assert!(failure.to_string().ends_with("--idempotency-key k-1"), "{failure}");
        }
    }

    #[test]
    fn the_next_page_is_that_of_the_link() {
        let mut headers = HeaderMap::new();
        let link = "<http://a/v1/loads?limit=2>; rel=\"first\", <http://a/v1/loads?f%3Astatus=upcoming&cursor=a,b>; rel=\"next\"";
        headers.insert(LINK, link.parse().unwrap());
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(next_query(&headers), Some(vec![pair("f:status", "upcoming"), pair("cursor", "a,b")]));
        headers.insert(LINK, "<http://a/v1/loads?limit=2>; rel=\"first\"".parse().unwrap());
        assert_eq!(next_query(&headers), None);
    }

    #[test]
    fn a_base_url_keeps_its_path_and_a_segment_stays_one() {
        let base = Url::parse("https://drover.example/logistics/").unwrap();
        assert_eq!(join(&base, "/v1/loads").unwrap().as_str(), "https://drover.example/logistics/v1/loads");
        assert_eq!(segment("a/../b?c#d e").unwrap(), "a%2F..%2Fb%3Fc%23d%20e");
        assert!(segment("..").is_err());
    }

    #[test]
    fn a_write_keeps_its_key_and_a_read_has_none() {
        assert_eq!(Request::get(Service::System, "/v1/files").key, None);
        let post = |key| Request::post(Service::System, "/v1/files", Payload::None, key).key.unwrap();
        assert_eq!(post(Some("k".to_owned())), "k");
        assert_ne!(post(None), post(None));
    }
}
