//! The HTTP client that posts messages to receivers. Each attempt has a connection of its own, which ends with it: at
//! the timeout, or when the receiver sends too many heads.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use actix_web::web::Bytes;
use anyhow::Context;
use common::traces;
use database::{Id, Timestamp};
use http::header::{CONNECTION, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::ext::on_informational;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use super::sign::SigningKeys;
use super::url_rules::is_public;

/// The most bytes of heads of an attempt.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// The most informational answers (1xx) of an attempt.
const MAX_INFORMATIONAL: usize = 10;
/// Longest response body, in bytes, that is read, so that the receiver can write it. A longer one closes the
/// connection.
const MAX_BODY_BYTES: u64 = 16 << 10;
/// Time within which the response body must arrive. Otherwise the connection is closed.
const BODY_TIMEOUT: Duration = Duration::from_millis(500);
/// The header that names the webhook of an organisation.
const WEBHOOK_ID: &str = "drover-webhook-id";
/// The longest pause that a receiver can ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(8 * 3600);

/// Why a receiver did not acknowledge a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The name has no address that may be reached.
    Name,
    /// No connection, or it ended early.
    Connection,
    /// TLS failed, for example because of the certificate.
    Tls,
    /// No answer within the timeout.
    Timeout,
    /// No valid HTTP, more than 64 KiB of heads, or more than 10 informational answers.
    Protocol,
    /// Another status than 2xx, and the pause that the receiver asks for.
    Status(StatusCode, Option<Duration>),
}

impl SendError {
    /// Returns the text for the delivery log.
    pub fn reason(self) -> String {
        match self {
            Self::Name => "name".into(),
            Self::Connection => "connection".into(),
            Self::Tls => "tls".into(),
            Self::Timeout => "timeout".into(),
            Self::Protocol => "protocol".into(),
            Self::Status(status, _) => format!("status {}", status.as_u16()),
        }
    }

    /// Returns the pause that the receiver asks for.
    pub(crate) fn retry_after(self) -> Option<Duration> {
        if let Self::Status(_, pause) = self { pause } else { None }
    }
}

impl From<SendError> for outbox::Failure {
    fn from(error: SendError) -> Self {
        Self::Retry { reason: error.reason(), after: error.retry_after() }
    }
}

impl From<hyper::Error> for SendError {
    fn from(error: hyper::Error) -> Self {
        if error.is_parse() { Self::Protocol } else { Self::Connection }
    }
}

/// A message to post.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// The id of the event or notification.
    pub id: Id,
    /// The webhook of an organisation that gets it.
    pub webhook_id: Option<&'a str>,
    /// JSON.
    pub body: String,
}

/// Posts messages to receivers. It follows no redirects and uses no proxy.
pub struct Sender {
    tls: TlsConnector,
    timeout: Duration,
    allow_private: bool,
}

impl Sender {
    /// Creates a sender. `timeout` limits a whole exchange. Unless `allow_private` is true, only public addresses are
    /// reached.
    ///
    /// # Errors
    /// If the certificates of the system cannot be used.
    pub fn new(timeout: Duration, allow_private: bool) -> anyhow::Result<Self> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(BuilderVerifierExt::with_platform_verifier)
            .context("cannot create the HTTP client for webhooks")?;
        let tls = Arc::new(config.with_no_client_auth()).into();
        Ok(Self { tls, timeout, allow_private })
    }

    /// Attempts one delivery of a message. Returns the status of the answer.
    ///
    /// # Errors
    /// If the receiver did not acknowledge it.
    pub async fn post(
        &self,
        url: &Url,
        keys: &SigningKeys,
        message: Message<'_>,
    ) -> Result<StatusCode, SendError> {
        let Message { id, webhook_id, body } = message;
        let (id, timestamp) = (id.to_string(), Timestamp::now().millis() / 1000);
        let mut request = Request::post(&url[url::Position::BeforePath..url::Position::AfterQuery])
            .header(HOST, &url[url::Position::BeforeHost..url::Position::AfterPort])
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("drover/", env!("CARGO_PKG_VERSION")))
            .header(CONNECTION, "close")
            .header("webhook-id", &id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", keys.sign(&id, timestamp, &body));
        if let Some(webhook) = webhook_id {
            request = request.header(WEBHOOK_ID, webhook);
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(|_| SendError::Protocol)?;
        let mut span = traces::http_client_span("POST", url);
        let exchange = timeout(self.timeout, self.exchange(url, request));
        let status = exchange.await.unwrap_or(Err(SendError::Timeout));
        let answered = match status {
            Ok(status) | Err(SendError::Status(status, _)) => Some(status),
            Err(_) => None,
        };
        traces::record_response(&mut span, answered);
        status
    }

    async fn exchange(&self, url: &Url, request: Request<Full<Bytes>>) -> Result<StatusCode, SendError> {
        let addresses = self.resolve(url).await?;
        let stream = TcpStream::connect(addresses.as_slice()).await.map_err(|_| SendError::Connection)?;
        // A short message must not wait for the acknowledgement of the head.
        let _ = stream.set_nodelay(true);
        if url.scheme() == "http" {
            return send(stream, request).await;
        }
        let name = match url.host() {
            Some(Host::Domain(name)) => ServerName::try_from(name.to_owned()).map_err(|_| SendError::Name)?,
            Some(Host::Ipv4(address)) => IpAddr::from(address).into(),
            Some(Host::Ipv6(address)) => IpAddr::from(address).into(),
            None => return Err(SendError::Name),
        };
        let stream = self.tls.connect(name, stream).await.map_err(|_| SendError::Tls)?;
        send(stream, request).await
    }

    /// Returns the addresses of a host that may be reached. A name is resolved for each connection, so one whose
    /// address changes after a check gains nothing.
    async fn resolve(&self, url: &Url) -> Result<Vec<SocketAddr>, SendError> {
        let port = url.port_or_known_default().unwrap_or(443);
        let mut addresses: Vec<SocketAddr> = match url.host() {
            Some(Host::Ipv4(address)) => vec![(address, port).into()],
            Some(Host::Ipv6(address)) => vec![(address, port).into()],
            Some(Host::Domain(name)) => {
                tokio::net::lookup_host((name, port)).await.map_err(|_| SendError::Name)?.collect()
            }
            None => Vec::new(),
        };
        addresses.retain(|address| self.allow_private || is_public(address.ip()));
        if addresses.is_empty() { Err(SendError::Name) } else { Ok(addresses) }
    }
}

/// Sends a request over a connection of its own, and reads the answer.
async fn send<S>(stream: S, mut request: Request<Full<Bytes>>) -> Result<StatusCode, SendError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let heads = Arc::new(InformationalHeads::default());
    let counted = heads.clone();
    on_informational(&mut request, move |answer| counted.add(answer.headers()));
    let (mut sender, connection) =
        http1::Builder::new().max_buf_size(MAX_HEAD_BYTES).handshake(TokioIo::new(stream)).await?;
    // Ends the connection when it is dropped.
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let response = tokio::select! {
        biased;
        () = heads.too_many.notified() => return Err(SendError::Protocol),
        response = sender.send_request(request) => response?,
    };
    if heads.bytes.load(Ordering::Relaxed) + size(response.headers()) > MAX_HEAD_BYTES {
        return Err(SendError::Protocol);
    }
    outcome(response).await
}

async fn outcome(response: Response<Incoming>) -> Result<StatusCode, SendError> {
    let (status, pause) = (response.status(), retry_after(response.status(), response.headers()));
    if response.body().size_hint().exact().is_some_and(|length| length <= MAX_BODY_BYTES) {
        let _ = timeout(BODY_TIMEOUT, response.into_body().collect()).await;
    }
    if status.is_success() { Ok(status) } else { Err(SendError::Status(status, pause)) }
}

/// Returns the pause that a receiver asks for with 429 and 503: seconds or a date, at most 8 hours. `None` for less
/// than a second: such pauses would use up all attempts at once.
fn retry_after(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    if ![StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&status) {
        return None;
    }
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let pause = if is_number {
        text.parse().map_or(MAX_RETRY_AFTER, Duration::from_secs)
    } else {
        httpdate::parse_http_date(text).ok()?.duration_since(SystemTime::now()).unwrap_or_default()
    };
    Some(pause.min(MAX_RETRY_AFTER)).filter(|pause| *pause >= Duration::from_secs(1))
}

/// Returns the approximate size of a head in bytes.
fn size(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}

/// The informational answers of an attempt.
#[derive(Default)]
struct InformationalHeads {
    count: AtomicUsize,
    bytes: AtomicUsize,
    /// Notified when there are too many.
    too_many: Notify,
}

impl InformationalHeads {
    fn add(&self, headers: &HeaderMap) {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let size = size(headers);
        let bytes = self.bytes.fetch_add(size, Ordering::Relaxed) + size;
        if count > MAX_INFORMATIONAL || bytes > MAX_HEAD_BYTES {
            self.too_many.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn receivers_ask_for_a_pause_with_429_and_503() {
        let now = SystemTime::now();
        let date = httpdate::fmt_http_date;
        for (status, value, expected) in [
            (429, "6".to_owned(), Some(6..=6)),
            (503, "0".into(), None),
            (429, "99999999999999999999".into(), Some(28_800..=28_800)),
            (503, "86400".into(), Some(28_800..=28_800)),
            (503, date(now + Duration::from_secs(60)), Some(58..=60)),
            (503, date(now - Duration::from_secs(60)), None),
            (429, "soon".into(), None),
            (429, "-1".into(), None),
            (500, "6".into(), None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_str(&value).unwrap())]);
            let pause = retry_after(StatusCode::from_u16(status).unwrap(), &headers);
            let matches = match (&pause, &expected) {
                (Some(pause), Some(range)) => range.contains(&pause.as_secs()),
                (pause, range) => pause.is_none() && range.is_none(),
            };
            assert!(matches, "{status} {value}: {pause:?}");
        }
    }

    /// Posts a message to a receiver that sends this text `count` times after the request.
    async fn post_to(text: &'static str, count: usize) -> Result<StatusCode, SendError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Url = format!("http://{}/hook", listener.local_addr().unwrap()).parse().unwrap();
        let answer = async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_u8().await.unwrap();
            for _ in 0..count {
                if stream.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_secs(5)).await;
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(answer);
        let sender = Sender::new(Duration::from_secs(1), true).unwrap();
        sender.post(&url, &SigningKeys::of([]), message()).await
    }

    fn message() -> Message<'static> {
        Message { id: Id::new(), webhook_id: None, body: "{}".into() }
    }

    #[test]
    fn names_of_this_machine_are_not_reached() {
        testkit::block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let attempt = async |allow_private| {
                let sender = Sender::new(Duration::from_millis(200), allow_private).unwrap();
                let url = format!("https://localhost:{port}/hook").parse().unwrap();
                sender.post(&url, &SigningKeys::of([]), message()).await
            };
            assert_eq!(attempt(false).await, Err(SendError::Name));
            assert!(timeout(Duration::ZERO, listener.accept()).await.is_err(), "the sender connected");
            assert_eq!(attempt(true).await, Err(SendError::Timeout));
            drop(listener);
            assert_eq!(attempt(true).await, Err(SendError::Connection));
        });
    }

    #[test]
    fn attempts_end_whatever_the_receiver_sends() {
        testkit::block_on(async {
            let informational = "HTTP/1.1 100 Continue\r\n\r\n";
            let started = std::time::Instant::now();
            assert_eq!(post_to(informational, usize::MAX).await, Err(SendError::Protocol));
            assert!(started.elapsed() < Duration::from_millis(900), "{:?}", started.elapsed());
            assert_eq!(
                post_to("x-header: a value of a header that does not end\r\n", 100_000).await,
                Err(SendError::Protocol)
            );
            assert_eq!(post_to("HTTP/1.1 204 No Content\r\n\r\n", 1).await, Ok(StatusCode::NO_CONTENT));
            assert_eq!(post_to("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 1).await, Ok(StatusCode::OK));
            assert_eq!(post_to(informational, 10).await, Err(SendError::Timeout));
            assert_eq!(post_to("", 0).await, Err(SendError::Timeout));
            assert_eq!(
                post_to("HTTP/1.1 500 Error\r\ncontent-length: 9999999\r\n\r\n", 1)
                    .await
                    .unwrap_err()
                    .reason(),
                "status 500"
            );
        });
    }
}
