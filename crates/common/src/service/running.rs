//! A running service and its shutdown.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::web::Data;
use database::Database;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::Shutdown;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::{Service, ServiceContext};
use crate::extract::idempotency;
use crate::middleware::activity::DrainState;
use crate::middleware::rate_limit::RateLimiter;
use crate::settings::RuntimeSettings;
use crate::telemetry::metrics;
use crate::telemetry::security::RefusalLog;
use crate::telemetry::traces::Export;

/// A service that answers requests.
pub struct Running {
    /// Address of the listening socket.
    pub address: SocketAddr,
    pub(super) handle: ServerHandle,
    pub(super) server: JoinHandle<io::Result<()>>,
    pub(super) acceptor: Acceptor,
    pub(super) background: JoinSet<()>,
    /// [`Service::finish`](super::Service::finish).
    pub(super) finish: Pin<Box<dyn Future<Output = ()> + Send>>,
    pub(super) drain_state: Data<DrainState>,
    pub(super) drain_time: Duration,
    pub(super) shutdown_timeout: Duration,
    /// Stops the log lines of a target (`actix_server=off`).
    pub(super) silence_target: Box<dyn Fn(&str) + Send + Sync>,
    pub(super) export: Export,
    /// The database of a service; a site has none.
    pub(super) db: Option<Database>,
}

impl Running {
    /// Drains for `server.drain_seconds` or until `interrupt` completes, and then [stops](Self::stop).
    pub async fn drain_and_stop(self, interrupt: impl Future<Output = ()>) {
        if !self.drain_time.is_zero() {
            self.drain_state.begin();
            tokio::select! {
                () = self.drain() => {}
                () = interrupt => {}
            }
        }
        self.stop().await;
    }

    async fn drain(&self) {
        sleep(self.drain_time).await;
        // actix logs the closed listener as an error.
        (self.silence_target)("actix_server=off");
        self.acceptor.close(&self.handle).await;
    }

    /// Stops the service. Waits up to `server.shutdown_seconds` for requests in flight and background work.
    pub async fn stop(mut self) {
        // Ends streams and waiting requests, which would delay the stop.
        self.drain_state.begin();
        let _ = tokio::join!(self.handle.stop(true), timeout(self.shutdown_timeout, self.finish));
        self.background.shutdown().await;
        let _ = self.server.await;
        if let Some(db) = &self.db
            && timeout(self.shutdown_timeout, db.close()).await.is_err()
        {
            tracing::warn!("the database is not closed in time; the next start completes its log");
        }
        self.export.stop().await;
    }

    /// Waits until the server ends by itself or a background task panics. Neither is expected.
    pub async fn failed(&mut self) -> anyhow::Error {
        loop {
            tokio::select! {
                result = &mut self.server => return match result {
                    Ok(Err(error)) => anyhow::Error::new(error).context("the server ended"),
                    _ => anyhow::anyhow!("the server ended"),
                },
                // A background task may end without an error.
                Some(result) = self.background.join_next() => {
                    if let Err(panic) = result {
                        return anyhow::Error::new(panic).context("a background task panicked");
                    }
                }
            }
        }
    }
}

/// How often expired idempotency keys are removed.
const PRUNE_INTERVAL: Duration = Duration::from_secs(600);

/// Spawns the tasks. They are aborted when the set is dropped.
pub(super) fn spawn_background<S: Service>(
    service: Data<S>,
    settings: Data<RuntimeSettings>,
    (limiter, refusals): (Data<RateLimiter>, Data<RefusalLog>),
    context: &ServiceContext,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(RuntimeSettings::watch(settings));
    tasks.spawn(S::background(service));
    tasks.spawn(async move { limiter.run_cleanup().await });
    tasks.spawn(async move { refusals.run().await });
    tasks.spawn(prune_idempotency_keys(context.db.clone()));
    let verifier = context.verifier.clone();
    tasks.spawn(async move { verifier.fetch_first_keys().await });
    tasks.spawn(metrics::run_upkeep());
    tasks
}

async fn prune_idempotency_keys(db: Database) {
    loop {
        tokio::time::sleep(PRUNE_INTERVAL).await;
        if let Err(error) = db.write(idempotency::prune).await {
            tracing::warn!(error = format!("{error:?}"), "expired idempotency keys could not be removed");
        }
    }
}

/// Time for clients whose connections were accepted last to send their requests.
const SETTLE_TIME: Duration = Duration::from_millis(500);
/// How often the accept queue is polled, at most, for a moment in which it is empty.
const MAX_POLLS: u32 = 1000;
/// Interval between two polls of the accept queue.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A second handle on the listening socket, which stops accepting connections without losing requests.
///
/// Senders learn late that a service stops: orchestrators request `/readyz` every few seconds, and proxies keep
/// connections open. A proxy may send a POST on a connection that is just being closed, and will not retry it. So for
/// `server.drain_seconds` the service reports that it stops and still answers, and every response closes its
/// connection. Then the listener refuses new connections, and requests on accepted connections are still answered.
pub(super) struct Acceptor(pub(super) TcpListener);

impl Acceptor {
    /// Refuses new connections, so that their clients can use another replica. Accepted connections stay open.
    ///
    /// Closing a listener resets the connections in its accept queue. So this waits until the queue is empty.
    pub(super) async fn close(&self, server: &ServerHandle) {
        for _ in 0..MAX_POLLS {
            if !self.has_pending_connections() {
                break;
            }
            sleep(POLL_INTERVAL).await;
        }
        // Refuses connections at once on Linux. On other systems `pause` closes the listener a little later.
        let _ = rustix::net::shutdown(&self.0, Shutdown::Read);
        server.pause().await;
        sleep(SETTLE_TIME).await;
    }

    fn has_pending_connections(&self) -> bool {
        let mut listener = [PollFd::new(&self.0, PollFlags::IN)];
        matches!(poll(&mut listener, Some(&Timespec::default())), Ok(1..))
    }
}
