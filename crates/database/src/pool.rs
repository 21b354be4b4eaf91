//! The connection pool: as many statements at once as there are connections, each on a blocking thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use diesel::QueryResult;
use diesel::connection::{
    AnsiTransactionManager, CacheSize, Connection as _, SimpleConnection, TransactionManager,
};
use diesel::r2d2::{self, ManageConnection, PooledConnection, R2D2Connection};
use secrecy::ExposeSecret;
use tokio::sync::Semaphore;
use tracing::Span;

use crate::connection::{self, Role};
use crate::{AnyConnection, Error, Failure, Options, Target};

/// Opens connections by the URL and nothing else. (Diesel's own manager tries each backend in turn: a wrong
/// password becomes "invalid URL", a mistyped URL a new SQLite file.)
struct Manager {
    target: Target,
    schema: &'static str,
}

/// A connection, and how often it was used since it keeps statements.
struct Pooled {
    connection: AnyConnection,
    uses: u32,
}

/// Statements are kept by their text, of which a search has as many as there are ways to put its filters together. After
/// so many uses they are forgotten; those that are asked for most are prepared again soon.
const USES: u32 = 1000;

impl Pooled {
    fn used(&mut self) -> QueryResult<()> {
        self.uses += 1;
        if self.uses >= USES {
            self.uses = 0;
            self.connection.set_prepared_statement_cache_size(CacheSize::Disabled);
            let forgotten = match &mut self.connection {
                AnyConnection::Postgres(c) => c.batch_execute("DEALLOCATE ALL"),
                AnyConnection::Sqlite(_) => Ok(()),
            };
            self.connection.set_prepared_statement_cache_size(CacheSize::Unbounded);
            return forgotten;
        }
        Ok(())
    }
}

impl ManageConnection for Manager {
    type Connection = Pooled;
    type Error = Error;

    fn connect(&self) -> Result<Pooled, Error> {
        let connection = match &self.target {
            Target::Sqlite(path) => AnyConnection::Sqlite(connection::sqlite(path, Role::Reader)?),
            Target::Postgres(url) => {
                AnyConnection::Postgres(connection::postgres(url.expose_secret(), self.schema)?)
            }
        };
        Ok(Pooled { connection, uses: 0 })
    }

    fn is_valid(&self, pooled: &mut Pooled) -> Result<(), Error> {
        Ok(pooled.connection.ping()?)
    }

    fn has_broken(&self, pooled: &mut Pooled) -> bool {
        std::thread::panicking() || pooled.connection.is_broken()
    }
}

#[derive(Debug)]
struct LogFailure;

impl diesel::r2d2::HandleError<Error> for LogFailure {
    fn handle_error(&self, error: Error) {
        tracing::warn!(%error, "a database connection could not be opened");
    }
}

type Checkout = PooledConnection<Manager>;

/// Connections and the permits that keep more closures than connections from piling up on threads.
pub(crate) struct Pool {
    connections: r2d2::Pool<Manager>,
    permits: Arc<Semaphore>,
    wait: Duration,
}

impl Pool {
    pub(crate) fn open(target: Target, options: &Options) -> Result<Self, Error> {
        // SQLite reads in this process: more readers than cores answer no sooner, and each has memory of its own; but some
        // must be left where a few read long.
        let size = match &target {
            Target::Sqlite(_) => options.pool_size.min(cores().saturating_add(1).max(4)),
            Target::Postgres(_) => options.pool_size,
        };
        let connections = r2d2::Pool::builder()
            .max_size(size)
            .min_idle(Some(1))
            .connection_timeout(options.wait)
            .idle_timeout(None)
            .test_on_check_out(false)
            .error_handler(Box::new(LogFailure))
            .build(Manager { target, schema: options.schema })
            .map_err(|e| Error::Setup(e.to_string()))?;
        let permits = Arc::new(Semaphore::new(size as usize));
        Ok(Self { connections, permits, wait: options.wait })
    }

    pub(crate) async fn read<T, E, F>(&self, mut f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: Failure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        self.run(move |connection| f(connection)).await
    }

    /// One transaction on PostgreSQL, at REPEATABLE READ: a row that another transaction changed meanwhile fails
    /// the statement, and the closure is run again on the new state.
    pub(crate) async fn write<T, E, F>(&self, mut f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: Failure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        let patience = self.wait;
        self.run(move |connection| {
            let started = Instant::now();
            let mut longest = 1_000;
            loop {
                match transaction(connection, &mut f) {
                    Err(e) if lost(&e) => {
                        if started.elapsed() > patience {
                            return Err(Error::Unavailable("others change the same rows".into()).into());
                        }
                        metrics::counter!("drover_database_retries_total").increment(1);
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

    /// True when every connection is in use.
    pub(crate) fn is_busy(&self) -> bool {
        self.permits.available_permits() == 0
    }

    /// Runs `f` on a blocking thread; again on another connection if the first turns out to be dead.
    async fn run<T, E, F>(&self, mut f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: Failure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        let deadline = Instant::now() + self.wait;
        let waited = tokio::time::timeout(self.wait, self.permits.clone().acquire_owned()).await;
        let Ok(Ok(permit)) = waited else {
            return Err(Error::Unavailable("all connections are busy".into()).into());
        };
        let pool = self.connections.clone();
        let span = Span::current();
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let _entered = span.entered();
            loop {
                let mut pooled = checkout(&pool, deadline)?;
                // Before, so that what goes wrong with it is found out as below.
                let used = pooled.used().map_err(|e| E::from(Error::from(e)));
                let connection = &mut pooled.connection;
                let result = used.and_then(|()| f(connection));
                // A server that was restarted leaves dead connections behind: one is found out at each call. Diesel
                // does not always notice; a failed ping makes it, and the pool then drops the connection.
                let died = result.as_ref().is_err_and(is_unavailable)
                    && (connection.is_broken() || connection.ping().is_err());
                if !died || Instant::now() > deadline {
                    return result;
                }
            }
        });
        task.await.unwrap_or_else(|_| Err(Error::Panicked.into()))
    }
}

fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX))
}

fn checkout(pool: &r2d2::Pool<Manager>, deadline: Instant) -> Result<Checkout, Error> {
    pool.get_timeout(deadline.saturating_duration_since(Instant::now()))
        .map_err(|e| Error::Unavailable(e.to_string().replace('\n', " ")))
}

fn is_unavailable<E: Failure>(error: &E) -> bool {
    matches!(error.database(), Some(Error::Unavailable(_)))
}

fn lost<E: Failure>(error: &E) -> bool {
    error.database().is_some_and(Error::is_serialisation_failure)
}

fn transaction<T, E: Failure>(
    connection: &mut AnyConnection,
    f: &mut impl FnMut(&mut AnyConnection) -> Result<T, E>,
) -> Result<T, E> {
    let sql = |e: diesel::result::Error| E::from(Error::from(e));
    if let AnyConnection::Postgres(c) = connection {
        AnsiTransactionManager::begin_transaction_sql(c, "BEGIN ISOLATION LEVEL REPEATABLE READ")
            .map_err(sql)?;
    }
    match f(connection) {
        Ok(value) => {
            <AnyConnection as diesel::Connection>::TransactionManager::commit_transaction(connection)
                .map_err(|e| match Error::from(e) {
                    // Not to be run again: it may have happened.
                    Error::Unavailable(reason) => Error::Undecided(reason).into(),
                    other => E::from(other),
                })?;
            Ok(value)
        }
        Err(error) => {
            // A connection that cannot even roll back is broken, and the pool drops it.
            let _ =
                <AnyConnection as diesel::Connection>::TransactionManager::rollback_transaction(connection);
            Err(error)
        }
    }
}
