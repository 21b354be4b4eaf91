//! A running service and its shutdown.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::web::Data;
use database::Database;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::drain::Acceptor;
use crate::middleware::drain_state::DrainState;
use crate::settings::RuntimeSettings;
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
    pub(super) settings: Data<RuntimeSettings>,
    pub(super) export: Export,
    pub(super) db: Database,
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
        self.settings.silence_target("actix_server=off");
        self.acceptor.close(&self.handle).await;
    }

    /// Stops the service. Waits up to `server.shutdown_seconds` for requests in flight and background work.
    pub async fn stop(mut self) {
        let _ = tokio::join!(self.handle.stop(true), timeout(self.shutdown_timeout, self.finish));
        self.background.shutdown().await;
        let _ = self.server.await;
        if timeout(self.shutdown_timeout, self.db.close()).await.is_err() {
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
