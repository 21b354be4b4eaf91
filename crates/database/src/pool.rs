//! The connection pool: as many statements at once as there are connections, each on a blocking thread.
//!
//! A network that is silent leaves such a thread waiting for ever, and nothing can wake it: so a call that the server does
//! not work for is answered without it (`watch`), and its place is given to others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use diesel::RunQueryDsl;
use diesel::connection::{AnsiTransactionManager, TransactionManager};
use diesel::dsl::sql;
use diesel::r2d2::{self, R2D2Connection};
use diesel::result::Error as Diesel;
use diesel::sql_types::Bool;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{timeout, timeout_at};
use tracing::{Instrument, Span};

use crate::call::Call;
use crate::connection;
use crate::file::OpenFile;
use crate::manager::{Checkout, LogFailure, Manager};
use crate::measured::{DatabaseMetrics, record};
use crate::{AnyConnection, DatabaseFailure, Error, Options, Target};

/// A connection of PostgreSQL that is not used for so long is closed.
const MAX_IDLE_TIME: Duration = Duration::from_secs(600);
/// How long the server has for saying that it is at work.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// What a call is given at least once its turn has come.
const MIN_CALL_TIME: Duration = Duration::from_millis(500);
/// How soon it is asked again.
const RECHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Connections and the permits that keep more closures than connections from piling up on threads.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Shared>);

struct Shared {
    connections: r2d2::Pool<Manager>,
    /// Where the server is asked what it does, on PostgreSQL.
    server: Option<SecretString>,
    schema: &'static str,
    stall_epoch: Arc<AtomicU64>,
    permits: Arc<Semaphore>,
    size: usize,
    wait: Duration,
    opened: Instant,
    /// When a call went well last, in milliseconds after that.
    well: AtomicU64,
    measured: DatabaseMetrics,
}

impl Pool {
    pub(crate) fn open(
        target: Target,
        file: Option<OpenFile>,
        options: &Options,
        measured: DatabaseMetrics,
    ) -> Result<Self, Error> {
        // SQLite reads in this process: more readers than cores answer no sooner, and each has memory of its own; but some
        // must be left where a few read long.
        let (size, server) = match &target {
            Target::Sqlite(_) => (options.pool_size.min(cores().saturating_add(1).max(4)), None),
            Target::Postgres(url) => (options.pool_size, Some(url.clone())),
        };
        let silences = Arc::new(AtomicU64::new(0));
        // As many again as run at once may be with calls that were given up.
        let most = if server.is_some() { size * 2 } else { size };
        let connections = r2d2::Pool::builder()
            .max_size(most)
            .min_idle(Some(1))
            .connection_timeout(options.wait)
            .idle_timeout(server.is_some().then_some(MAX_IDLE_TIME))
            .test_on_check_out(false)
            .error_handler(Box::new(LogFailure(file.clone())))
            .build(Manager { target, file, stall_epoch: silences.clone() })
            .map_err(|e| Error::Setup(e.to_string()))?;
        let size = size as usize;
        Ok(Self(Arc::new(Shared {
            connections,
            server,
            schema: options.schema,
            stall_epoch: silences,
            permits: Arc::new(Semaphore::new(size)),
            size,
            wait: options.wait,
            opened: Instant::now(),
            well: AtomicU64::new(0),
            measured,
        })))
    }

    pub(crate) async fn read<T, E, F>(&self, mut f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        self.run(move |connection, _| f(connection)).await
    }

    /// One transaction on PostgreSQL, at REPEATABLE READ: a row that another transaction changed meanwhile fails
    /// the statement, and the closure is run again on the new state.
    pub(crate) async fn write<T, E, F>(&self, mut f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        let (patience, measured) = (self.0.wait, self.0.measured.clone());
        self.run(move |connection, call| {
            let started = Instant::now();
            let mut longest = 1_000;
            loop {
                match transaction(connection, call, &mut f) {
                    Err(e) if lost(&e) => {
                        if started.elapsed() > patience {
                            measured.conflict.increment(1);
                            return Err(Error::Unavailable("others change the same rows".into()).into());
                        }
                        measured.retries.increment(1);
                        // Those that lost against one another must not meet again.
                        std::thread::sleep(Duration::from_micros(rand::random_range(500..=longest)));
                        longest = (longest * 2).min(50_000);
                    }
                    result => return result,
                }
            }
        })
        .await
    }

    /// True when every connection is in use, and calls go well all the same.
    pub(crate) fn is_busy(&self) -> bool {
        let well = self.0.opened + Duration::from_millis(self.0.well.load(Ordering::Relaxed));
        self.0.permits.available_permits() == 0 && well.elapsed() < self.0.wait
    }

    /// Calls that run, connections that wait for one, and how many may run at once.
    pub(crate) fn load(&self) -> (usize, usize, usize) {
        let (shared, state) = (&self.0, self.0.connections.state());
        (shared.size - shared.permits.available_permits(), state.idle_connections as usize, shared.size)
    }

    /// Runs `f` on a blocking thread; again on another connection if the first turns out to be dead.
    async fn run<T, E, F>(&self, f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection, &Call) -> Result<T, E> + Send + 'static,
    {
        let shared = self.0.clone();
        let begun = Instant::now();
        let deadline = begun + shared.wait;
        let waited = timeout(shared.wait, shared.permits.clone().acquire_owned()).await;
        record(&shared.measured.waited, begun);
        let Ok(Ok(permit)) = waited else {
            shared.measured.busy.increment(1);
            return Err(Error::Unavailable("all connections are busy".into()).into());
        };
        let deadline = deadline.max(Instant::now() + MIN_CALL_TIME);
        let call = Arc::new(Call::new(permit));
        let (span, own, at) = (Span::current(), call.clone(), shared.clone());
        let task = spawn_blocking(move || {
            let _entered = span.entered();
            let _ended = Ended(&at, &own);
            at.work(&own, deadline, f)
        });
        if shared.server.is_none() {
            return ended(task.await);
        }
        // A task of its own: it sees to its end what nobody waits for any more.
        ended(tokio::spawn(shared.watch(call, task, deadline).in_current_span()).await)
    }
}

fn ended<T, E: DatabaseFailure>(joined: Result<Result<T, E>, tokio::task::JoinError>) -> Result<T, E> {
    joined.unwrap_or_else(|_| Err(Error::Panicked.into()))
}

/// Dropped, the thread of a call has ended, however it did.
struct Ended<'a>(&'a Shared, &'a Call);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        if self.1.end() {
            self.0.measured.left.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Shared {
    /// One that is idle, or a new one as soon as one can be had; none that has been idle since the server was silent.
    fn checkout(&self, deadline: Instant) -> Result<Checkout, Error> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let pooled = self
                .connections
                .get_timeout(left)
                .map_err(|e| Error::Unavailable(e.to_string().replace('\n', " ")))?;
            if pooled.is_fresh() {
                return Ok(pooled);
            }
        }
    }

    fn work<T, E: DatabaseFailure>(
        &self,
        call: &Call,
        deadline: Instant,
        mut f: impl FnMut(&mut AnyConnection, &Call) -> Result<T, E>,
    ) -> Result<T, E> {
        loop {
            let mut pooled = self.checkout(deadline).inspect_err(|_| {
                if call.decided() {
                    self.measured.unreachable.increment(1);
                }
            })?;
            // What goes wrong with this is found out as below.
            let ready = pooled.ready(self.schema).map_err(|e| E::from(Error::from(e)));
            let (silences, connection) = (pooled.stall_epoch, &mut pooled.connection);
            let result = ready.and_then(|backend| {
                if call.begin(backend, silences) { f(connection, call) } else { Err(given_up()) }
            });
            // A server that was restarted leaves dead connections behind: one is found out at each call. Diesel does not
            // always notice.
            let trouble = result.as_ref().err().and_then(DatabaseFailure::database);
            let undecided = matches!(trouble, Some(Error::CommitUnknown(_)));
            let away = matches!(trouble, Some(Error::Unavailable(_)));
            let read_only = trouble.is_some_and(Error::is_read_only);
            let died = away && (connection.is_broken() || connection.ping().is_err());
            if read_only {
                pooled.retire();
            }
            if !away && !undecided {
                let now = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
                self.well.store(now, Ordering::Relaxed);
            }
            if !died || Instant::now() > deadline {
                return result;
            }
        }
    }

    /// Waits for a call, but no longer than the server works for it.
    async fn watch<T, E: DatabaseFailure>(
        self: Arc<Self>,
        call: Arc<Call>,
        mut task: JoinHandle<Result<T, E>>,
        deadline: Instant,
    ) -> Result<T, E> {
        let mut until = deadline.into();
        loop {
            if let Ok(joined) = timeout_at(until, &mut task).await {
                return ended(joined);
            }
            let given_to = call.given_to();
            let at_work = match given_to {
                Some((backend, _)) => self.is_at_work(backend).await,
                None => false,
            };
            if !at_work && let Some(error) = call.leave(|| self.has_room()) {
                tracing::warn!(%error, "a database call was given up");
                self.measured.silent.increment(1);
                if let Some((_, seen)) = given_to {
                    // Once for all calls that the server has left alone since.
                    let _ = self.stall_epoch.compare_exchange(
                        seen,
                        seen + 1,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    );
                }
                return Err(error.into());
            }
            until = tokio::time::Instant::now() + RECHECK_INTERVAL;
        }
    }

    /// Counts a call that is given up. True while so few wait in vain that their places can be given to others.
    fn has_room(&self) -> bool {
        self.measured.left.fetch_add(1, Ordering::Relaxed) < self.size
    }

    /// True when the server is at work for a connection, or was a moment ago, and its answer may still be being read. It is asked on another, which is new: who
    /// hears nothing on the first cannot tell a long query from a lost answer.
    async fn is_at_work(self: &Arc<Self>, backend: i32) -> bool {
        let Some(url) = self.server.clone() else { return false };
        let schema = self.schema;
        let asked = spawn_blocking(move || {
            let mut c = connection::postgres(url.expose_secret(), schema)?;
            let at_work = format!(
                "EXISTS (SELECT FROM pg_stat_activity WHERE pid = {backend}
                 AND (state NOT LIKE 'idle%' OR state_change > clock_timestamp() - interval '4 s'))"
            );
            Ok::<_, Error>(diesel::select(sql::<Bool>(&at_work)).get_result(&mut c)?)
        });
        match timeout(PROBE_TIMEOUT, asked).await {
            Ok(Ok(Ok(at_work))) => at_work,
            // That it takes no more connections is an answer too.
            Ok(Ok(Err(error))) => error.to_string().contains("FATAL"),
            _ => false,
        }
    }
}

fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX))
}

fn given_up<E: DatabaseFailure>() -> E {
    Error::Unavailable("the call was given up".into()).into()
}

fn lost<E: DatabaseFailure>(error: &E) -> bool {
    error.database().is_some_and(Error::is_serialisation_failure)
}

fn transaction<T, E: DatabaseFailure>(
    connection: &mut AnyConnection,
    call: &Call,
    f: &mut impl FnMut(&mut AnyConnection) -> Result<T, E>,
) -> Result<T, E> {
    let sql = |e: Diesel| E::from(Error::from(e));
    if let AnyConnection::Postgres(c) = connection {
        AnsiTransactionManager::begin_transaction_sql(c, "BEGIN ISOLATION LEVEL REPEATABLE READ")
            .map_err(sql)?;
    }
    let result = f(connection).and_then(|value| if call.commit() { Ok(value) } else { Err(given_up()) });
    match result {
        Ok(value) => {
            let committed =
                <AnyConnection as diesel::Connection>::TransactionManager::commit_transaction(connection);
            let committed = committed.map_err(|e| match e {
                // Not to be run again: it may have happened.
                Diesel::RollbackErrorOnCommit { .. } => Error::CommitUnknown(e.to_string()),
                e => match Error::from(e) {
                    Error::Unavailable(reason) => Error::CommitUnknown(reason),
                    other => other,
                },
            });
            call.committed(committed.as_ref().is_err_and(Error::is_serialisation_failure));
            committed?;
            Ok(value)
        }
        Err(error) => {
            // A connection that cannot even roll back is broken, and is not used again.
            let _ =
                <AnyConnection as diesel::Connection>::TransactionManager::rollback_transaction(connection);
            Err(error)
        }
    }
}
