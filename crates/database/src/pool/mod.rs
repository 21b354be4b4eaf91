//! The connection pool. Each call runs on a blocking thread, at most as many at once as there are connections.

mod call;
mod manager;
mod transaction;
mod watchdog;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use diesel::r2d2::{self, R2D2Connection};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::{Instrument, Span};

use self::call::{Assignment, Call, RunToEnd};
use self::manager::{Checkout, ConnectErrorLogger, ConnectionManager, ManagedConnection};
use self::watchdog::{Watchdog, flatten};
use crate::metrics::{DatabaseMetrics, PoolUsage, record_elapsed};
use crate::postgres::PlanMode;
use crate::sqlite::SqliteFiles;
use crate::{AnyConnection, DatabaseFailure, DatabaseUrl, Error, Options};

/// Time after which a connection is replaced. After a promotion, connections to a former standby end by this.
const MAX_LIFETIME: Duration = Duration::from_secs(1800);
/// Time after which an idle connection to PostgreSQL is closed.
const MAX_IDLE_TIME: Duration = Duration::from_secs(600);
/// Time after which an idle reader of SQLite is closed. Its memory map, page cache and statements are released; opening
/// another one takes less than a millisecond.
const MAX_IDLE_READER_TIME: Duration = Duration::from_secs(60);
/// Minimum time that a call may run before it is watched, however long it waited for its permit.
const MIN_CALL_TIME: Duration = Duration::from_millis(500);

/// A connection pool. Clones share their state.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Inner>);

struct Inner {
    connections: r2d2::Pool<ConnectionManager>,
    /// Limits the calls that run at once, so that calls wait here and not on threads.
    permits: Arc<Semaphore>,
    size: usize,
    schema: &'static str,
    /// See [`DatabaseUrl::selects_server`].
    selects_server: bool,
    /// See [`Options::wait_timeout`].
    wait_timeout: Duration,
    /// `None` on SQLite.
    watchdog: Option<Arc<Watchdog>>,
    opened: Instant,
    /// Time of the last successful call, in milliseconds after `opened`.
    last_success_ms: AtomicU64,
    metrics: DatabaseMetrics,
}

impl Pool {
    /// Opens the first connection and starts the pool. `files` are those of SQLite.
    pub(crate) fn open(
        url: DatabaseUrl,
        files: Option<SqliteFiles>,
        options: &Options,
        metrics: DatabaseMetrics,
    ) -> Result<Self, Error> {
        let (size, max_connections) = match &url {
            // SQLite reads in this process: more readers than cores are not faster, and each has a cache of its own. At
            // least 4, so that a few long reads do not block the others.
            DatabaseUrl::Sqlite(_) => {
                let size = options.pool_size.min(cores().saturating_add(1).max(4));
                (size, size)
            }
            // Abandoned calls keep their connections: there is room for as many of them as may run at once.
            DatabaseUrl::Postgres(_) => (options.pool_size, options.pool_size * 2),
        };
        let (generation, selects_server) = (Arc::new(AtomicU64::new(0)), url.selects_server());
        let watchdog = match &url {
            DatabaseUrl::Sqlite(_) => None,
            DatabaseUrl::Postgres(url) => Some(Arc::new(Watchdog {
                url: url.clone(),
                schema: options.schema,
                pooler: options.pooler,
                generation: generation.clone(),
                max_released: size as usize,
                metrics: metrics.clone(),
            })),
        };
        let connections = r2d2::Pool::builder()
            .max_size(max_connections)
            .min_idle(Some(1))
            .connection_timeout(options.wait_timeout)
            .max_lifetime(Some(MAX_LIFETIME))
            .idle_timeout(Some(if watchdog.is_some() { MAX_IDLE_TIME } else { MAX_IDLE_READER_TIME }))
            .test_on_check_out(false)
            .error_handler(Box::new(ConnectErrorLogger(files.clone())))
            .build(ConnectionManager { url, pooler: options.pooler, files, generation })
            .map_err(|e| Error::Setup(e.to_string()))?;
        let size = size as usize;
        Ok(Self(Arc::new(Inner {
            connections,
            permits: Arc::new(Semaphore::new(size)),
            size,
            schema: options.schema,
            selects_server,
            wait_timeout: options.wait_timeout,
            watchdog,
            opened: Instant::now(),
            last_success_ms: AtomicU64::new(0),
            metrics,
        })))
    }

    /// Runs a closure that only reads.
    pub(crate) async fn read<T, E, F>(&self, plan_mode: PlanMode, mut f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        self.run(plan_mode, move |checkout, _| {
            if checkout.has_pooler() {
                let begin = checkout.begin_statement("READ COMMITTED");
                transaction::run_read(&mut checkout.connection, &begin, &mut f)
            } else {
                f(&mut checkout.connection)
            }
        })
        .await
    }

    /// Runs a closure in a transaction of PostgreSQL, and again after a serialization failure.
    pub(crate) async fn write<T, E, F>(&self, mut f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        let (retry_timeout, metrics) = (self.0.wait_timeout, self.0.metrics.clone());
        self.run(PlanMode::Custom, move |checkout, call| {
            let (begin, connection) = (checkout.begin_statement("REPEATABLE READ"), &mut checkout.connection);
            transaction::run_with_retries(retry_timeout, &metrics, || {
                transaction::run(connection, &begin, call, &mut f)
            })
        })
        .await
    }

    /// Runs a closure that executes one statement, which PostgreSQL commits by itself. Behind a pooler it runs in a
    /// transaction, which has the settings of the service.
    pub(crate) async fn write_statement<T, E, F>(&self, mut f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        let (retry_timeout, metrics) = (self.0.wait_timeout, self.0.metrics.clone());
        self.run(PlanMode::Any, move |checkout, call| {
            if checkout.has_pooler() {
                let (begin, connection) =
                    (checkout.begin_statement("READ COMMITTED"), &mut checkout.connection);
                return transaction::run_with_retries(retry_timeout, &metrics, || {
                    transaction::run(connection, &begin, call, &mut f)
                });
            }
            // Nothing is sent on a dead connection, so that the call can run on another one.
            checkout.check_idle().map_err(|e| E::from(Error::from(e)))?;
            transaction::run_with_retries(retry_timeout, &metrics, || {
                transaction::run_statement(&mut checkout.connection, call, &mut f)
            })
        })
        .await
    }

    /// Returns true if all permits are in use and a call succeeded recently.
    pub(crate) fn is_busy(&self) -> bool {
        let last_success =
            self.0.opened + Duration::from_millis(self.0.last_success_ms.load(Ordering::Relaxed));
        self.0.permits.available_permits() == 0 && last_success.elapsed() < self.0.wait_timeout
    }

    /// Returns the current use of the pool.
    pub(crate) fn usage(&self) -> PoolUsage {
        let inner = &self.0;
        PoolUsage {
            in_use: inner.size - inner.permits.available_permits(),
            idle: inner.connections.state().idle_connections as usize,
            limit: inner.size,
        }
    }

    /// Runs `f` on a blocking thread, and again on another connection if the first one was dead.
    async fn run<T, E, F>(&self, plan_mode: PlanMode, f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut ManagedConnection, &Call) -> Result<T, E> + Send + 'static,
    {
        let inner = self.0.clone();
        let started = Instant::now();
        let deadline = started + inner.wait_timeout;
        let acquired = timeout(inner.wait_timeout, inner.permits.clone().acquire_owned()).await;
        record_elapsed(&inner.metrics.connection_wait, started);
        let Ok(Ok(permit)) = acquired else {
            inner.metrics.busy.increment(1);
            return Err(Error::unavailable("all connections are busy").into());
        };
        let deadline = deadline.max(Instant::now() + MIN_CALL_TIME);
        let call = Arc::new(Call::new(permit));
        let task = spawn_blocking({
            let (span, inner, call) = (Span::current(), inner.clone(), call.clone());
            move || {
                let _entered = span.entered();
                let _guard = EndGuard { call: &call, metrics: &inner.metrics };
                inner.execute(&call, deadline, plan_mode, f)
            }
        });
        match &inner.watchdog {
            None => flatten(task.await),
            // The call is watched to its end even if the caller drops this future.
            Some(watchdog) => {
                RunToEnd::new(watchdog.clone().watch(call, task, deadline).in_current_span()).await
            }
        }
    }
}

fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX))
}

/// Ends a call when its thread returns or panics.
struct EndGuard<'a> {
    call: &'a Call,
    metrics: &'a DatabaseMetrics,
}

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        if self.call.end() {
            self.metrics.abandoned.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Inner {
    /// Runs `f` on a connection of the pool. If the connection turns out to be dead, or its server to be read-only
    /// while there may be another one, runs it again on another connection, until `deadline`.
    fn execute<T, E: DatabaseFailure>(
        &self,
        call: &Call,
        deadline: Instant,
        plan_mode: PlanMode,
        mut f: impl FnMut(&mut ManagedConnection, &Call) -> Result<T, E>,
    ) -> Result<T, E> {
        loop {
            call.set_awaits_connection(true);
            let mut checkout = self.checkout(deadline, plan_mode).inspect_err(|_| {
                if call.fail_without_connection() {
                    self.metrics.unreachable.increment(1);
                }
            })?;
            call.set_awaits_connection(false);
            let prepared = checkout.prepare(self.schema, plan_mode).map_err(|e| E::from(Error::from(e)));
            let generation = checkout.generation;
            let result = prepared.and_then(|backend| {
                if call.assign(Assignment { backend, generation }) {
                    f(&mut checkout, call)
                } else {
                    Err(Error::abandoned().into())
                }
            });
            let failure = result.as_ref().err().and_then(DatabaseFailure::database);
            let is_unavailable = matches!(failure, Some(Error::Unavailable(..)));
            let is_read_only = failure.is_some_and(Error::is_read_only);
            if is_read_only {
                checkout.retire();
            }
            if !is_unavailable && !matches!(failure, Some(Error::CommitUnknown(_))) {
                self.record_success();
            }
            // A restarted server leaves dead connections in the pool. Each is found by the call that gets it; Diesel
            // does not always notice, so the connection is pinged.
            let is_dead =
                is_unavailable && (checkout.connection.is_broken() || checkout.connection.ping().is_err());
            let has_moved = is_read_only && self.leave_server(generation);
            if !(is_dead || has_moved) || Instant::now() > deadline {
                return result;
            }
        }
    }

    /// Stops reusing connections of a server that has become read-only, if there may be another server. Returns true if
    /// the refused call, which has changed nothing, may run there.
    fn leave_server(&self, generation: u64) -> bool {
        if let Some(watchdog) = self.watchdog.as_ref().filter(|_| self.selects_server) {
            watchdog.advance_generation(generation);
        }
        self.selects_server
    }

    /// Takes an idle connection or waits for a new one. Discards those opened before the server last
    /// stalled or became read-only.
    ///
    /// Prefers a connection in the mode of the call: changing the mode takes a round trip. If all idle ones were looked
    /// at, r2d2 opens another one. So calls in several modes soon have enough connections in each.
    fn checkout(&self, deadline: Instant, plan_mode: PlanMode) -> Result<Checkout, Error> {
        // They return to the pool at the end.
        let mut others = Vec::new();
        loop {
            let checkout = if others.is_empty() {
                self.wait_for_connection(deadline)?
            } else {
                let Some(checkout) = self.connections.try_get() else { return Ok(others.swap_remove(0)) };
                checkout
            };
            if !checkout.is_current() {
                continue;
            }
            if self.watchdog.is_none() || checkout.has_mode(plan_mode) {
                return Ok(checkout);
            }
            others.push(checkout);
        }
    }

    fn wait_for_connection(&self, deadline: Instant) -> Result<Checkout, Error> {
        let remaining = deadline.saturating_duration_since(Instant::now());
        let checkout = self.connections.get_timeout(remaining);
        checkout.map_err(|e| Error::unavailable(e.to_string().replace('\n', " ")))
    }

    fn record_success(&self) {
        let elapsed = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_success_ms.store(elapsed, Ordering::Relaxed);
    }
}
