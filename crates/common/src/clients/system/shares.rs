//! The outbox of shares: the first attempt right after the commit, retries in the background.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use database::Database;
use futures_util::future::join_all;
use metrics::{Counter, Gauge};
use reqwest::StatusCode;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::client::SystemClient;
use super::model::DueShare;
use super::resolve::CallError;
use super::store::{self, LEASE};
use crate::due::{DueLoop, backoff};
use crate::telemetry::traces::{Traces, in_context, mark_current_failed};
use crate::{Error, telemetry};

/// Maximum number of concurrent retries.
const MAX_CONCURRENT: usize = 8;
/// Interval of the search for due shares of other replicas.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Interval of the metric of waiting shares.
const COUNT_INTERVAL: Duration = Duration::from_secs(5);

/// Returns true if a retry would be refused again. Other statuses can come from a proxy while the system service is
/// unavailable.
fn is_final(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::BAD_REQUEST
            | StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
    )
}

/// The outbox: shares files after the commit of a load or listing, and retries until they are shared.
pub struct Shares {
    db: Database,
    client: Arc<SystemClient>,
    wake: Notify,
    traces: Traces,
    due: Gauge,
    done: Counter,
    retried: Counter,
    refused: Counter,
    failed: Counter,
}

impl Shares {
    /// Creates the outbox of a service.
    pub fn new(db: &Database, traces: &Traces, client: Arc<SystemClient>) -> Self {
        let counter = |outcome| {
            let counter = telemetry::metrics::file_shares(outcome);
            counter.increment(0);
            counter
        };
        let due = telemetry::metrics::file_shares_due();
        due.set(0.0);
        Self {
            db: db.clone(),
            client,
            wake: Notify::new(),
            traces: traces.clone(),
            due,
            done: counter("done"),
            retried: counter("retried"),
            refused: counter("refused"),
            failed: counter("failed"),
        }
    }

    /// Makes the first attempt of a share that was [recorded](super::record_share) and committed, unless it has to
    /// wait. A failed attempt is retried in the background.
    pub async fn share(&self, share: Option<DueShare>) {
        let Some(share) = share else { return };
        let id = share.id;
        match self.db.read(move |c| store::lease(c, id)).await {
            Ok(Some(lease)) => self.attempt(share, lease).await,
            Ok(None) => self.wake.notify_one(),
            Err(error) => tracing::warn!(error = format!("{error:?}"), "a due share of files cannot be read"),
        }
    }

    /// Retries due shares as long as the service runs.
    pub async fn run(&self) {
        tokio::join!(self.retry(), self.update_gauge());
    }

    async fn retry(&self) {
        let mut last_tenant = String::new();
        let mut due = DueLoop::new(POLL_INTERVAL, "due shares of files cannot be read");
        loop {
            let next = self.retry_due(&mut last_tenant).await;
            due.wait(next, Some(&self.wake)).await;
        }
    }

    /// Attempts all due shares. Returns how long until the next one is due, or `None` if there is none.
    async fn retry_due(&self, last_tenant: &mut String) -> Result<Option<Duration>, Error> {
        loop {
            // While the circuit breaker is open, claims would only write to the database.
            if let Some(wait) = self.client.blocked_for() {
                return Ok(Some(wait));
            }
            match self.db.read(store::next_due_in).await? {
                Some(wait) if wait.is_zero() => {}
                other => return Ok(other),
            }
            let last = last_tenant.clone();
            let claim = move |c: &mut _| {
                let mut last = last.clone();
                let claimed = store::claim(c, MAX_CONCURRENT, &mut last)?;
                Ok::<_, Error>((claimed, last))
            };
            let (claimed, last) = self.db.write(claim).await?;
            *last_tenant = last;
            if claimed.is_empty() {
                // Another replica claimed them first.
                return Ok(None);
            }
            join_all(claimed.into_iter().map(|share| {
                in_context(self.traces.begin_background("share files"), self.attempt(share, LEASE))
            }))
            .await;
        }
    }

    /// Attempts a share, no longer than it is leased: another one that contradicts it waits for that long.
    async fn attempt(&self, share: DueShare, lease: Duration) {
        let subject = share.subject;
        let attempt = timeout(lease, self.client.share(&share)).await;
        let too_slow = |_| Err(CallError::Unavailable(anyhow!("the files were not shared in time")));
        let recorded = match attempt.unwrap_or_else(too_slow) {
            Ok(()) => self.remove(&share).await.map(|removed| self.done.increment(removed.into())),
            Err(CallError::NoRoom(files)) => self.remove(&share).await.map(|removed| {
                if removed {
                    self.refused.increment(1);
                    tracing::warn!(
                        %subject, files = files.len(),
                        "files of a load or listing were not shared: they are shared with too many organisations already"
                    );
                }
            }),
            Err(CallError::TokenExpired) => self.give_up(&share, "the token has expired").await,
            Err(CallError::Refused(status)) if is_final(status) => {
                self.give_up(&share, &status.to_string()).await
            }
            Err(error) => self.postpone(&share, &error).await,
        };
        if let Err(error) = recorded {
            tracing::warn!(
                %subject, error = format!("{error:?}"),
                "the result of sharing files was not recorded: the attempt will be repeated"
            );
        }
    }

    /// Deletes a share. Returns whether it still existed.
    async fn remove(&self, share: &DueShare) -> Result<bool, Error> {
        let id = share.id;
        self.db.write(move |c| store::remove(c, id)).await
    }

    /// Deletes a share that no retry can carry out. `reason` is for the log.
    async fn give_up(&self, share: &DueShare, reason: &str) -> Result<(), Error> {
        if self.remove(share).await? {
            self.failed.increment(1);
            let (member, organisations) = share.sharing.member();
            tracing::error!(
                subject = %share.subject, reason, attempts = share.attempts,
                files = ?share.files, member, ?organisations,
                "the sharing of files of a load or listing was not changed and no retry can succeed: change it by \
                 POST /v1/files/resolve of system"
            );
        }
        Ok(())
    }

    /// Schedules a retry after an error.
    async fn postpone(&self, share: &DueShare, error: &CallError) -> Result<(), Error> {
        let (id, subject, attempts) = (share.id, share.subject, share.attempts);
        mark_current_failed("not_shared");
        let backoff = backoff(attempts).mul_f64(rand::random_range(0.75..1.25));
        let postponed = self.db.write(move |c| store::postpone(c, id, attempts, backoff)).await;
        self.retried.increment(1);
        let error = format!("{error:?}");
        // One warning for each share: thousands may be due while the system service is unavailable.
        if attempts == 1 {
            tracing::warn!(%subject, error, "the files of a load or listing were not shared: retrying");
        } else {
            tracing::debug!(%subject, attempts, error, "the files of a load or listing were not shared: retrying");
        }
        self.wake.notify_one();
        postponed
    }

    /// Updates the metric of shares that wait for a retry. Every replica counts the shares of all replicas.
    async fn update_gauge(&self) {
        loop {
            if let Ok(due) = self.db.read(store::count_waiting).await {
                #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
                self.due.set(due as f64);
            }
            tokio::time::sleep(COUNT_INTERVAL).await;
        }
    }
}
