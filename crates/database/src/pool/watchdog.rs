//! The watchdog of PostgreSQL calls that take long.
//!
//! On a stalled network libpq waits for a reply forever, and nothing can wake its thread. So the watchdog asks the
//! server whether it still works for a call. If not, it answers the caller with an error and leaves the thread behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use diesel::RunQueryDsl;
use diesel::dsl::sql;
use diesel::sql_types::Bool;
use secrecy::{ExposeSecret, SecretString};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use tokio::time::{timeout, timeout_at};

use super::call::Call;
use crate::metrics::DatabaseMetrics;
use crate::postgres::BackendId;
use crate::{DatabaseFailure, Error, Pooler, postgres};

/// Timeout of the query that asks whether the server is executing a call.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// Delay between two probes for the same call.
const PROBE_INTERVAL: Duration = Duration::from_secs(2);
/// Delay between two checks of a call that waits for a connection after its deadline: its thread ends it by itself, and
/// is late only if the machine is busy.
const CONNECTION_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Abandons calls that the server no longer executes.
pub(crate) struct Watchdog {
    pub url: SecretString,
    pub schema: &'static str,
    pub pooler: Pooler,
    /// Incremented when the server stalls or becomes read-only. See [`super::manager::ConnectionManager::generation`].
    pub generation: Arc<AtomicU64>,
    /// Abandoned calls whose permits may be released at the same time.
    pub max_released: usize,
    pub metrics: DatabaseMetrics,
}

impl Watchdog {
    /// Waits for a call. After `deadline`, waits on only as long as the server executes the call.
    ///
    /// # Errors
    /// The error of the call; for an abandoned call [`Error::Unavailable`], or [`Error::CommitUnknown`] if it was
    /// committing.
    pub(crate) async fn watch<T, E: DatabaseFailure>(
        self: Arc<Self>,
        call: Arc<Call>,
        mut task: JoinHandle<Result<T, E>>,
        deadline: Instant,
    ) -> Result<T, E> {
        let mut next_probe = deadline.into();
        let mut misses = 0;
        loop {
            if let Ok(joined) = timeout_at(next_probe, &mut task).await {
                return flatten(joined);
            }
            if call.awaits_connection() {
                next_probe = tokio::time::Instant::now() + CONNECTION_CHECK_INTERVAL;
                continue;
            }
            let assignment = call.assignment();
            let is_executing = match assignment {
                Some(assignment) => self.is_executing(assignment.backend).await,
                None => false,
            };
            misses = if is_executing { 0 } else { misses + 1 };
            if misses >= self.max_misses()
                && let Some(error) = call.abandon(|| self.count_abandoned())
            {
                tracing::warn!(%error, "abandoned a database call");
                self.metrics.stalled.increment(1);
                if let Some(assignment) = assignment {
                    self.advance_generation(assignment.generation);
                }
                return Err(error.into());
            }
            next_probe = tokio::time::Instant::now() + PROBE_INTERVAL;
        }
    }

    /// Counts an abandoned call. Returns true if its permit may be released.
    fn count_abandoned(&self) -> bool {
        self.metrics.abandoned.fetch_add(1, Ordering::Relaxed) < self.max_released
    }

    /// Starts a new generation of connections, once for all calls of the same generation. Older connections are not
    /// reused.
    pub(crate) fn advance_generation(&self, seen: u64) {
        let _ = self.generation.compare_exchange(seen, seen + 1, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Returns the number of consecutive probes without the call after which it is abandoned. A session is found for a
    /// while after it has finished, and a transaction behind a pooler is not: its reply may be on its way.
    fn max_misses(&self) -> u32 {
        match self.pooler {
            Pooler::None => 1,
            Pooler::Transaction => 2,
        }
    }

    /// Returns whether PostgreSQL is still executing for this backend, or, without a pooler, finished within 4 s. Uses
    /// a new connection: silence on the old one can't tell a slow query from a lost reply.
    async fn is_executing(&self, backend: BackendId) -> bool {
        let (url, condition) = (self.url.clone(), backend.condition(self.schema));
        let probe = spawn_blocking(move || {
            let mut c = postgres::connect(url.expose_secret())?;
            // Diesel prepares no literal SQL. It is one message, which needs no transaction behind a pooler.
            let is_executing = format!(
                "EXISTS (SELECT FROM pg_stat_activity WHERE {condition}
                 AND (state NOT LIKE 'idle%' OR state_change > clock_timestamp() - interval '4 s'))"
            );
            Ok::<_, Error>(diesel::select(sql::<Bool>(&is_executing)).get_result(&mut c)?)
        });
        match timeout(PROBE_TIMEOUT, probe).await {
            Ok(Ok(Ok(is_executing))) => is_executing,
            Ok(Ok(Err(error))) => error.is_busy_server(self.pooler == Pooler::Transaction),
            _ => false,
        }
    }
}

/// Returns the result of a finished task, or [`Error::Panicked`].
pub(crate) fn flatten<T, E: DatabaseFailure>(joined: Result<Result<T, E>, JoinError>) -> Result<T, E> {
    joined.unwrap_or_else(|_| Err(Error::Panicked.into()))
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    /// Watches a call whose thread ends 300 ms after its deadline, and returns the error of the caller.
    fn error_of_late_thread(awaits_connection: bool) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let watchdog = Watchdog {
                // Nothing listens there.
                url: "postgres://127.0.0.1:9/none".into(),
                schema: "test",
                pooler: Pooler::None,
                generation: Arc::default(),
                max_released: 1,
                metrics: DatabaseMetrics::new(),
            };
            let permit = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
            let call = Arc::new(Call::new(permit));
            call.set_awaits_connection(awaits_connection);
            let task = spawn_blocking(|| {
                std::thread::sleep(Duration::from_millis(400));
                Err::<(), _>(Error::unavailable("no connection in time"))
            });
            let deadline = Instant::now() + Duration::from_millis(100);
            Arc::new(watchdog).watch(call, task, deadline).await.unwrap_err().to_string()
        })
    }

    #[test]
    fn calls_that_wait_for_a_connection_are_ended_by_their_thread() {
        let error = error_of_late_thread(true);
        assert!(error.contains("no connection in time"), "{error}");
        let error = error_of_late_thread(false);
        assert!(error.contains("does not respond"), "{error}");
    }
}
