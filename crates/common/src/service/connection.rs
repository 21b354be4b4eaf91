//! Connections that cannot be held for nothing. actix times the first head and the pause before the next one; whoever
//! takes nothing of an answer, stops within a second head or goes on sending what was refused would be waited for
//! without end. And there are never more of them than leave files for the work.

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_http::error::DispatchError;
use actix_http::{HttpServiceBuilder, Request, Response};
use actix_server::Server;
use actix_service::{IntoServiceFactory, ServiceFactory, ServiceFactoryExt, fn_service, map_config};
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{AppConfig, ServiceRequest};
use actix_web::{HttpRequest, web};
use metrics::Gauge;
use rustix::net::sockopt::set_socket_send_buffer_size;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::config;
use crate::service::unparsed::Unparsed;

/// Those that wait to be accepted; more are sent away by the kernel and try again after a second.
const BACKLOG: i32 = 1024;
/// How long what comes after a refusal is read over, so that the client sees the answer.
const LINGER: Duration = Duration::from_secs(1);

/// The most bytes of answers that the kernel holds for a connection (Linux doubles it for its own needs). It takes more
/// when a third of that is free, and by itself it would hold MiBs, so that nothing would seem to go to a slow client who
/// takes bytes all the while. With this 3 KiB/s are enough for 60 s, and a line of 100 ms still gets MiBs in a second.
const SEND_BUFFER: usize = 256 << 10;

/// How long a client is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// For the head of a connection's first request.
    pub head: Duration,
    /// For the next request to begin. Its head must be there within this and `head`, from the end of the answer before.
    pub idle: Duration,
    /// While it takes nothing of an answer, or sends next to nothing of a body.
    pub stalled: Duration,
}

impl Timeouts {
    /// As configured.
    pub fn new(server: &config::Server) -> Self {
        let [head, idle, stalled] =
            [server.head_seconds, server.idle_seconds, server.stalled_seconds].map(Duration::from_secs);
        Self { head, idle, stalled }
    }

    /// That of the app.
    pub fn of(request: &HttpRequest) -> Self {
        let configured = request.app_data::<web::Data<Self>>().map(|patience| ***patience);
        configured.unwrap_or_else(|| Self::new(&config::Server::default()))
    }
}

/// Serves an app on a listener.
pub(crate) fn serve<F, I, S, B>(listener: TcpListener, server: &config::Server, app: F) -> io::Result<Server>
where
    F: Fn() -> I + Send + Clone + 'static,
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig> + 'static,
    S::Future: 'static,
    S::Service: 'static,
    S::Error: Into<actix_web::Error> + 'static,
    S::InitError: std::fmt::Debug,
    S::Response: Into<Response<B>> + 'static,
    B: MessageBody + 'static,
{
    rustix::net::listen(&listener, BACKLOG)?;
    // Its connections have it too.
    set_socket_send_buffer_size(&listener, SEND_BUFFER)?;
    let (address, patience) = (listener.local_addr()?, Timeouts::new(server));
    let mut builder = Server::build().disable_signals().shutdown_timeout(server.shutdown_seconds);
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let workers = if server.workers > 0 { server.workers } else { cores };
    let each = most(server.connections).div_ceil(workers);
    builder = builder.workers(workers).max_concurrent_connections(each);
    let stopping = builder.graceful_shutdown_signal();
    let unparsed = Unparsed::default();
    let factory = move || {
        let app = app().into_factory().map_err(|error| error.into().error_response());
        let stopping = stopping.clone();
        let http = HttpServiceBuilder::default()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .keep_alive(patience.idle)
            .client_request_timeout(patience.head)
            .client_disconnect_timeout(LINGER)
            .local_addr(address)
            .on_connect_ext(|connection: &Connection<TcpStream>, data| {
                data.insert(connection.activity.clone());
            })
            .h1(map_config(app, |()| AppConfig::default()));
        let (opened, ended) = (unparsed.clone(), unparsed.clone());
        let open = move |io: TcpStream| {
            let peer = io.peer_addr().ok();
            std::future::ready(Ok((Connection::accepted(io, patience, opened.clone()), peer)))
        };
        fn_service(open).and_then(http).map_err(move |error: DispatchError| {
            ended.record(&error);
            error
        })
    };
    Ok(builder.listen("http", listener, factory)?.run())
}

/// So many connections at once: three quarters of the files that the system lets this process have, if that is less
/// than was configured. Of its two limits the lower is raised to the upper, as every process may.
fn most(configured: usize) -> usize {
    let files = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: files.maximum, maximum: files.maximum };
    let files = if setrlimit(Resource::Nofile, raised).is_ok() { files.maximum } else { files.current };
    let files = files.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
    configured.min(files / 4 * 3).max(1)
}

/// What goes on on a connection.
#[derive(Clone)]
pub(crate) struct Activity(Rc<State>);

struct State {
    /// Requests that are under way.
    requests: Cell<usize>,
    /// When something was sent last, or a request ended.
    seen: Cell<Instant>,
    /// Whether any request has begun.
    has_begun: Cell<bool>,
}

impl Activity {
    /// A request is under way for as long as what this returns lives, and counted.
    pub fn begin(request: &ServiceRequest, in_flight: &Gauge) -> Option<InFlightGuard> {
        let activity = request.conn_data::<Self>()?.clone();
        activity.0.requests.set(activity.0.requests.get() + 1);
        activity.0.has_begun.set(true);
        in_flight.increment(1.0);
        Some(InFlightGuard(activity, in_flight.clone()))
    }

    fn seen(&self) {
        self.0.seen.set(Instant::now());
    }
}

/// A request is under way.
pub(crate) struct InFlightGuard(Activity, Gauge);

impl InFlightGuard {
    /// Until the body, if it is still to be made, came to its end.
    pub fn until_the_end_of(self, body: BoxBody) -> BoxBody {
        BoxBody::new(TrackedBody { body, under_way: self })
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let requests = &self.0.0.requests;
        requests.set(requests.get() - 1);
        self.1.decrement(1.0);
        self.0.seen();
    }
}

/// A body of a request that is under way.
struct TrackedBody {
    body: BoxBody,
    under_way: InFlightGuard,
}

impl MessageBody for TrackedBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<web::Bytes, Self::Error>>> {
        self.body.as_pin_mut().poll_next(cx)
    }

    fn try_into_bytes(self) -> Result<web::Bytes, Self> {
        let Self { body, under_way } = self;
        body.try_into_bytes().map_err(|body| Self { body, under_way })
    }
}

/// A stream that fails when its client is given up.
struct Connection<T> {
    io: T,
    patience: Timeouts,
    activity: Activity,
    unparsed: Unparsed,
    quiet: Pin<Box<Sleep>>,
    /// When a client that takes nothing is given up: counts while `is_blocked`.
    stalled: Pin<Box<Sleep>>,
    is_blocked: bool,
}

impl Connection<TcpStream> {
    /// A connection with `TCP_NODELAY`, which actix sets only on streams of its own types. Without it the end of a chunked
    /// response may wait for the client's delayed acknowledgement, 40 ms.
    fn accepted(io: TcpStream, patience: Timeouts, unparsed: Unparsed) -> Self {
        // A failure means that the connection is closed already.
        let _ = io.set_nodelay(true);
        Self::new(io, patience, unparsed)
    }
}

impl<T> Connection<T> {
    fn new(io: T, patience: Timeouts, unparsed: Unparsed) -> Self {
        let now = Instant::now();
        let quiet = Box::pin(sleep_until(now + patience.idle + patience.head));
        Self {
            io,
            patience,
            activity: Activity(Rc::new(State {
                requests: Cell::new(0),
                seen: Cell::new(now),
                has_begun: Cell::new(false),
            })),
            unparsed,
            quiet,
            stalled: Box::pin(sleep_until(now)),
            is_blocked: false,
        }
    }

    /// True when no request was under way and nothing was sent, nor to be sent, for as long as the next one may take to come in.
    fn is_given_up(&mut self, cx: &mut Context<'_>) -> bool {
        while self.quiet.as_mut().poll(cx).is_ready() {
            let State { requests, seen, .. } = &*self.activity.0;
            let since = if requests.get() > 0 || self.is_blocked { Instant::now() } else { seen.get() };
            let end = since + self.patience.idle + self.patience.head;
            if end <= Instant::now() {
                return true;
            }
            self.quiet.as_mut().reset(end);
        }
        false
    }
}

fn given_up<V>() -> Poll<io::Result<V>> {
    Poll::Ready(Err(ErrorKind::TimedOut.into()))
}

impl<T: AsyncRead + Unpin> AsyncRead for Connection<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_given_up(cx) {
            return given_up();
        }
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Connection<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = Pin::new(&mut self.io).poll_write(cx, bytes) {
            self.is_blocked = false;
            self.activity.seen();
            if !self.activity.0.has_begun.get() {
                self.unparsed.record_timeout_response(bytes);
            }
            return Poll::Ready(written);
        }
        if !self.is_blocked {
            self.is_blocked = true;
            let end = Instant::now() + self.patience.stalled;
            self.stalled.as_mut().reset(end);
        }
        ready!(self.stalled.as_mut().poll(cx));
        given_up()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_connections_send_at_once() {
        testkit::block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap());
            let (client, accepted) = tokio::join!(client, listener.accept());
            let (io, _) = accepted.unwrap();
            assert!(!io.nodelay().unwrap());
            let connection =
                Connection::accepted(io, Timeouts::new(&config::Server::default()), Unparsed::default());
            assert!(connection.io.nodelay().unwrap());
            drop(client);
        });
    }
}
