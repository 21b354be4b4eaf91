//! The HTTP server: workers that accept connections and run the app on each.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use actix_http::error::DispatchError;
use actix_http::{HttpServiceBuilder, Request, Response};
use actix_server::Server;
use actix_service::{IntoServiceFactory, ServiceFactory, ServiceFactoryExt, fn_service, map_config};
use actix_web::body::MessageBody;
use actix_web::dev::AppConfig;
use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::net::TcpStream;

use super::connection::Connection;
use super::connection_limit::max_connections;
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
