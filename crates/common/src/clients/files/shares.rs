//! The outbox of shares: the first attempt right after the commit, retries in the background.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use database::{Database, Id, Timestamp};
use futures_util::future::join_all;
use metrics::{Counter, Gauge};
use reqwest::StatusCode;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Notify;

use super::client::{CallError, FileClient};
use super::store;
use crate::auth::Caller;
use crate::service::Context;
use crate::telemetry::failure_streak::FailureStreak;
use crate::telemetry::traces::{Traces, failed_here, within};
use crate::{Error, telemetry};

/// Retries that run at once.
const MAX_AT_ONCE: usize = 8;
/// The longest pause between attempts.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// How often due shares are looked for unless woken: those that another replica left.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How often they are counted.
const COUNT_INTERVAL: Duration = Duration::from_secs(5);

/// Files that are to be shared because of a stored load or listing.
#[derive(Clone)]
pub struct DueShare {
    pub(super) id: Id,
    /// The load or listing.
    pub(super) subject: Id,
    pub(super) tenant: String,
    pub(super) files: Vec<Id>,
    pub(super) organisations: Vec<String>,
    pub(super) token: SecretString,
    pub(super) expires_at: Timestamp,
    /// Attempts so far, including the current one.
    pub(super) attempts: i32,
    pub(super) request_id: String,
    pub(super) traceparent: Option<String>,
}

impl DueShare {
    /// `None` without files or organisations.
    pub(super) fn new(caller: &Caller, subject: Id, files: Vec<Id>, with: &[&str]) -> Option<Self> {
        (!files.is_empty() && !with.is_empty()).then(|| Self {
            id: Id::new(),
            subject,
            tenant: caller.tenant(),
            files,
            organisations: with.iter().map(ToString::to_string).collect(),
            token: caller.token.clone(),
            expires_at: expiry(caller.token.expose_secret()),
            attempts: 1,
            request_id: caller.request.id.clone(),
            traceparent: Some(caller.request.traceparent()),
        })
    }

    /// Returns the token to store.
    pub(super) fn token(&self) -> &str {
        self.token.expose_secret()
    }
}

/// Claim `exp` of a verified token; an hour from now if it cannot be read.
fn expiry(token: &str) -> Timestamp {
    let claims = token.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let claims: Option<serde_json::Value> = claims.and_then(|json| serde_json::from_slice(&json).ok());
    let exp = claims.and_then(|claims| claims["exp"].as_i64()).and_then(|exp| exp.checked_mul(1000));
    exp.and_then(Timestamp::from_millis).unwrap_or_else(|| Timestamp::now().plus(TimeDelta::hours(1)))
}

/// The pause after so many failed attempts: 1 s, then twice as long each time.
fn pause(attempts: i32) -> Duration {
    let doublings = u32::try_from(attempts.max(1)).unwrap_or(u32::MAX) - 1;
    Duration::from_secs(1_u64.checked_shl(doublings.min(32)).unwrap_or(u64::MAX)).min(MAX_PAUSE)
}

/// True if the same request would be refused again. A proxy may answer with other statuses while system is away.
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

/// Shares files after the commit of a load or listing, until it is done.
pub struct Shares {
    db: Database,
    client: Arc<FileClient>,
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
    pub fn new(context: &Context, client: Arc<FileClient>) -> Self {
        let counter = |outcome| {
            let counter = telemetry::metrics::file_shares(outcome);
            counter.increment(0);
            counter
        };
        let due = telemetry::metrics::file_shares_due();
        due.set(0.0);
        Self {
            db: context.db.clone(),
            client,
            wake: Notify::new(),
            traces: context.traces.clone(),
            due,
            done: counter("done"),
            retried: counter("retried"),
            refused: counter("refused"),
            failed: counter("failed"),
        }
    }

    /// Makes the first attempt of a share that was [recorded](super::record) and committed. ErrorResponses are left to the
    /// background.
    pub async fn share(&self, share: Option<DueShare>) {
        if let Some(share) = share {
            self.attempt(share).await;
        }
    }

    /// Retries for as long as the service runs.
    pub async fn run(&self) {
        tokio::join!(self.retry(), self.update_gauge());
    }

    async fn retry(&self) {
        let mut last_tenant = String::new();
        let mut failures = FailureStreak::default();
        loop {
            let idle = POLL_INTERVAL.mul_f64(rand::random_range(0.8..1.2));
            let next = self.retry_due(&mut last_tenant).await;
            if let Some(error) = failures.first(&next) {
                tracing::warn!(error = format!("{error:?}"), "due shares of files wait for the database");
            }
            let wait = next.ok().flatten().map_or(idle, |next| next.min(idle));
            tokio::select! {
                () = self.wake.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Makes an attempt at every due share. Returns how long until the next is due, `None` without any.
    async fn retry_due(&self, last_tenant: &mut String) -> Result<Option<Duration>, Error> {
        loop {
            // Attempts that cannot be made would only write to the database.
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
                let claimed = store::claim(c, MAX_AT_ONCE, &mut last)?;
                Ok::<_, Error>((claimed, last))
            };
            let (claimed, last) = self.db.write(claim).await?;
            *last_tenant = last;
            if claimed.is_empty() {
                // Another replica was faster.
                return Ok(None);
            }
            join_all(
                claimed
                    .into_iter()
                    .map(|share| within(self.traces.background("share files"), self.attempt(share))),
            )
            .await;
        }
    }

    async fn attempt(&self, share: DueShare) {
        let DueShare { id, subject, attempts, .. } = share;
        let result = if attempts > 1 && share.expires_at <= Timestamp::now() {
            Err(CallError::Refused(StatusCode::UNAUTHORIZED))
        } else {
            self.client.share(&share).await
        };
        let recorded = match result {
            Ok(()) => self.db.write(move |c| store::remove(c, id)).await.map(|_| self.done.increment(1)),
            Err(CallError::NoRoom(files)) => self.db.write(move |c| store::remove(c, id)).await.map(|removed| {
                if removed {
                    self.refused.increment(1);
                    tracing::warn!(
                        %subject, files = files.len(),
                        "files of a load or listing were not shared: they are shared with too many organisations already"
                    );
                }
            }),
            Err(CallError::Refused(status)) if is_final(status) => self.db.write(move |c| store::remove(c, id)).await.map(|removed| {
                if removed {
                    self.failed.increment(1);
                    tracing::error!(
                        %subject, %status, attempts,
                        "the files of a load or listing were not shared and no retry can succeed: share them by \
                         POST /v1/files/resolve of system"
                    );
                }
            }),
            Err(error) => {
                failed_here("not_shared");
                let pause = pause(attempts).mul_f64(rand::random_range(0.75..1.25));
                let postponed = self.db.write(move |c| store::postpone(c, id, attempts, pause)).await;
                self.retried.increment(1);
                let error = format!("{error:?}");
                // Once for each share: thousands may be due while system is away.
                if attempts == 1 {
                    tracing::warn!(%subject, error, "the files of a load or listing were not shared: retried");
                } else {
                    tracing::debug!(%subject, attempts, error, "the files of a load or listing were not shared: retried");
                }
                self.wake.notify_one();
                postponed
            }
        };
        if let Err(error) = recorded {
            tracing::warn!(
                %subject, error = format!("{error:?}"), "the result of sharing files was not recorded: it is repeated"
            );
        }
    }

    /// Shows how many shares of all replicas wait for a retry.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_half_a_minute() {
        let seconds = [0, 1, 2, 3, 5, 6, 7, 40, i32::MAX].map(|attempts| pause(attempts).as_secs());
        assert_eq!(seconds, [1, 1, 2, 4, 16, 30, 30, 30, 30]);
    }

    #[test]
    fn the_expiry_of_a_token() {
        let token = |claims: &str| format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims));
        assert_eq!(expiry(&token(r#"{"exp": 1700000000}"#)).to_string(), "2023-11-14T22:13:20.000Z");
        for odd in ["", "x", &token("{}"), &token(r#"{"exp": 9223372036854775807}"#)] {
            let left = expiry(odd).millis() - Timestamp::now().millis();
            assert!((3_500_000..=3_600_000).contains(&left), "{odd}: {left}");
        }
    }
}
