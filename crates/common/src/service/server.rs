//! The HTTP server: the listening socket, and workers that accept connections and run the app on each.

use std::io;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::time::Duration;

use actix_http::error::DispatchError;
use actix_http::{HttpServiceBuilder, Request, Response};
use actix_server::Server;
use actix_service::{IntoServiceFactory, ServiceFactory, ServiceFactoryExt, fn_service, map_config};
use actix_web::body::MessageBody;
use actix_web::dev::AppConfig;
use rustix::net::sockopt::set_socket_send_buffer_size;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpStream;

use super::connection::Connection;
use super::unparsed::UnparsedRequests;
use crate::config::{self, Timeouts};

/// Length of the accept queue. The kernel ignores further connections, and their clients retry after a second.
const BACKLOG: i32 = 1024;
/// How long the rest of a refused request is read and discarded, so that the client receives the response.
const LINGER_TIMEOUT: Duration = Duration::from_secs(1);

/// Bytes of responses that the kernel buffers for a connection; Linux doubles the number for its own needs. A full
/// buffer accepts more once a third of it is free. By default it can hold MiBs, so a slow client that reads all the
/// time would seem to be stalled. With this size 3 KiB/s are enough for a timeout of 60 s, and a line with 100 ms
/// latency still gets MiBs per second.
const SEND_BUFFER_BYTES: usize = 256 << 10;

/// Serves an app on a listener. Must be called within the runtime; the returned server runs when it is polled.
pub(super) fn serve<F, I, S, B>(listener: TcpListener, server: &config::Server, app: F) -> io::Result<Server>
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
    // Accepted connections inherit the size.
    set_socket_send_buffer_size(&listener, SEND_BUFFER_BYTES)?;
    let (address, timeouts) = (listener.local_addr()?, Timeouts::new(server));
    let workers = worker_count(server.workers);
    let builder = Server::build()
        .disable_signals()
        .shutdown_timeout(server.shutdown_seconds)
        .workers(workers)
        .max_concurrent_connections(max_connections(server.connections).div_ceil(workers));
    let stopping = builder.graceful_shutdown_signal();
    let unparsed = UnparsedRequests::default();
    let factory = move || {
        let app = app().into_factory().map_err(|error| error.into().error_response());
        let stopping = stopping.clone();
        let http = HttpServiceBuilder::default()
            .graceful_shutdown_signal(move || {
                let stopping = stopping.clone();
                async move { stopping.notified().await }
            })
            .keep_alive(timeouts.idle)
            .client_request_timeout(timeouts.head)
            .client_disconnect_timeout(LINGER_TIMEOUT)
            .local_addr(address)
            .on_connect_ext(|connection: &Connection<TcpStream>, data| {
                data.insert(connection.activity());
            })
            .h1(map_config(app, |()| AppConfig::default()));
        let (opened, ended) = (unparsed.clone(), unparsed.clone());
        let open = move |io: TcpStream| {
            let peer = io.peer_addr().ok();
            std::future::ready(Ok((Connection::accepted(io, timeouts, opened.clone()), peer)))
        };
        fn_service(open).and_then(http).map_err(move |error: DispatchError| {
            ended.record(&error);
            error
        })
    };
    Ok(builder.listen("http", listener, factory)?.run())
}

fn worker_count(configured: usize) -> usize {
    let cores = || std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    if configured > 0 { configured } else { cores() }
}

/// Binds the listening socket.
///
/// # Errors
/// Names the setting to change.
pub(super) fn listen(host: &str, port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind((host, port)).map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::AddrInUse => "stop what uses that port, or set server.port (DROVER_SERVER__PORT)",
            ErrorKind::PermissionDenied => "set server.port (DROVER_SERVER__PORT) to 1024 or more",
            _ => {
                "set server.host (DROVER_SERVER__HOST) to an address of this machine, such as 127.0.0.1, or 0.0.0.0 for \
                 all of them"
            }
        };
        anyhow::anyhow!("cannot listen on {host}:{port}: {error}: {remedy}")
    })
}

/// Returns the maximum number of connections: the configured number, but at most three quarters of the files that the
/// process may open. Raises the soft limit on open files to the hard limit, as every process may.
pub(super) fn max_connections(configured: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let files = if setrlimit(Resource::Nofile, raised).is_ok() { limit.maximum } else { limit.current };
    let files = files.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
    configured.min(files / 4 * 3).max(1)
}
