//! Opening, validating and retiring the connections of the pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use diesel::connection::{CacheSize, Connection as _, SimpleConnection};
use diesel::dsl::sql;
use diesel::r2d2::{HandleError, ManageConnection, PooledConnection, R2D2Connection};
use diesel::sql_types::{BigInt, Integer};
use diesel::{QueryResult, RunQueryDsl};
use secrecy::ExposeSecret;

use crate::postgres::{BackendId, PlanMode};
use crate::sqlite::{SqliteFiles, SqliteMode, open_sqlite};
use crate::{AnyConnection, DatabaseUrl, Error, Pooler, postgres};

/// Opens the connections of the pool.
///
/// Diesel's own manager of a multi connection tries each backend in turn: it reports a wrong password as an invalid
/// URL, and creates a SQLite file for a mistyped URL.
pub(crate) struct ConnectionManager {
    pub url: DatabaseUrl,
    pub pooler: Pooler,
    /// The files of SQLite. They are checked before the path is opened, which would create a missing file.
    pub files: Option<SqliteFiles>,
    /// The number of times that the server stalled or became read-only. A connection of an earlier generation may be
    /// stalled or read-only too and is not reused.
    pub generation: Arc<AtomicU64>,
}

/// A connection of the pool.
pub(crate) struct ManagedConnection {
    pub connection: AnyConnection,
    pooler: Pooler,
    /// Behind a pooler, the statements that configure the transactions of this use.
    local_settings: String,
    /// The process id of the server's backend; 0 before the first use, behind a pooler, and on SQLite.
    backend_pid: i32,
    /// The generation to which the connection belongs.
    pub generation: u64,
    current_generation: Arc<AtomicU64>,
    /// Uses since the prepared statements were last counted or discarded.
    uses: u32,
    /// The mode of the session on PostgreSQL.
    plan_mode: PlanMode,
    /// The time of the last use.
    last_use: Instant,
    /// Time between the last use and the one before.
    idle: Duration,
}

/// A connection that returns to the pool when it is dropped.
pub(crate) type Checkout = PooledConnection<ConnectionManager>;

/// Uses of a connection after which its prepared statements are discarded, on PostgreSQL if they are many. They are
/// cached by their text, and a search has one text for each combination of filters. Frequent statements are soon
/// prepared again.
const USES_BEFORE_DISCARD: u32 = 1000;
/// Prepared statements that a session of PostgreSQL keeps, each with up to 200 kB: more than a service executes
/// frequently.
const MAX_KEPT_STATEMENTS: i64 = 100;
/// Time since the last use after which a connection may be dead, because the server was restarted meanwhile.
const MAX_UNCHECKED_IDLE: Duration = Duration::from_millis(50);

impl ManagedConnection {
    /// Prepares the connection for its next use and returns how its backend is found.
    ///
    /// A new session is configured here and not by [`ConnectionManager::connect`]: a stalled server then blocks the
    /// thread of a call, which is watched, and not one of r2d2's few threads.
    pub(crate) fn prepare(&mut self, schema: &str, plan_mode: PlanMode) -> QueryResult<BackendId> {
        self.idle = self.last_use.elapsed();
        self.last_use = Instant::now();
        if self.has_pooler() {
            let id = BackendId::for_transactions();
            self.local_settings = postgres::local_settings(schema, plan_mode, id);
            return Ok(id);
        }
        if let AnyConnection::Postgres(c) = &mut self.connection {
            if self.backend_pid == 0 {
                postgres::configure(c, schema)?;
                if plan_mode != PlanMode::Any {
                    self.plan_mode = plan_mode;
                }
                c.batch_execute(self.plan_mode.settings())?;
                self.backend_pid = diesel::select(sql::<Integer>("pg_backend_pid()")).get_result(c)?;
            }
            if plan_mode != PlanMode::Any && plan_mode != self.plan_mode {
                c.batch_execute(plan_mode.settings())?;
                self.plan_mode = plan_mode;
            }
        }
        self.uses += 1;
        if self.uses >= USES_BEFORE_DISCARD {
            self.uses = 0;
            self.discard_statements()?;
        }
        Ok(BackendId::Process(self.backend_pid))
    }

    /// Returns true if a pooler gives each transaction a session, so that a session keeps nothing for a client.
    pub(crate) fn has_pooler(&self) -> bool {
        self.pooler == Pooler::Transaction
    }

    /// Returns the statement that begins a transaction at an isolation level. Behind a pooler the settings of the
    /// transaction follow in the same message.
    pub(crate) fn begin_statement(&self, level: &str) -> String {
        let separator = if self.has_pooler() { "; " } else { "" };
        format!("BEGIN ISOLATION LEVEL {level}{separator}{}", self.local_settings)
    }

    /// Returns true if [`prepare`](Self::prepare) changes no mode for a call in this one.
    pub(crate) fn has_mode(&self, plan_mode: PlanMode) -> bool {
        let is_new = self.backend_pid == 0; // always behind a pooler
        is_new || plan_mode == PlanMode::Any || plan_mode == self.plan_mode
    }

    /// Fails if the connection was idle before this use and is dead. For calls that cannot be repeated once a statement
    /// was sent.
    pub(crate) fn check_idle(&mut self) -> QueryResult<()> {
        if self.idle > MAX_UNCHECKED_IDLE { self.connection.ping() } else { Ok(()) }
    }

    fn discard_statements(&mut self) -> QueryResult<()> {
        if let AnyConnection::Postgres(c) = &mut self.connection {
            let count = sql::<BigInt>("(SELECT count(*) FROM pg_prepared_statements)");
            if diesel::select(count).get_result::<i64>(c)? <= MAX_KEPT_STATEMENTS {
                return Ok(());
            }
        }
        self.connection.set_prepared_statement_cache_size(CacheSize::Disabled);
        let deallocated = match &mut self.connection {
            AnyConnection::Postgres(c) => c.batch_execute("DEALLOCATE ALL"),
            AnyConnection::Sqlite(_) => Ok(()),
        };
        self.connection.set_prepared_statement_cache_size(CacheSize::Unbounded);
        deallocated
    }

    /// Makes the pool close the connection when it is returned.
    pub(crate) fn retire(&mut self) {
        self.generation = u64::MAX;
    }

    /// Returns true if the server has neither stalled nor become read-only since the connection was opened.
    pub(crate) fn is_current(&self) -> bool {
        self.generation == self.current_generation.load(Ordering::Relaxed)
    }
}

impl ManageConnection for ConnectionManager {
    type Connection = ManagedConnection;
    type Error = Error;

    fn connect(&self) -> Result<ManagedConnection, Error> {
        let generation = self.generation.load(Ordering::Relaxed);
        self.files.as_ref().map_or(Ok(()), SqliteFiles::check)?;
        let connection = match &self.url {
            DatabaseUrl::Sqlite(path) => AnyConnection::Sqlite(open_sqlite(path, SqliteMode::QueryOnly)?),
            DatabaseUrl::Postgres(url) => {
                let mut connection = postgres::connect(url.expose_secret())?;
                if self.pooler == Pooler::Transaction {
                    postgres::disable_prepared_statements(&mut connection);
                }
                AnyConnection::Postgres(connection)
            }
        };
        let current_generation = self.generation.clone();
        Ok(ManagedConnection {
            connection,
            pooler: self.pooler,
            local_settings: String::new(),
            backend_pid: 0,
            generation,
            current_generation,
            uses: 0,
            // Calls that may use any mode then have plans that are made once, except with Citus.
            plan_mode: PlanMode::reusable(),
            last_use: Instant::now(),
            idle: Duration::ZERO,
        })
    }

    fn is_valid(&self, managed: &mut ManagedConnection) -> Result<(), Error> {
        Ok(managed.connection.ping()?)
    }

    fn has_broken(&self, managed: &mut ManagedConnection) -> bool {
        std::thread::panicking() || managed.connection.is_broken() || !managed.is_current()
    }
}

/// Logs why a connection could not be opened. Missing SQLite files are logged by [`SqliteFiles::check`], once.
#[derive(Debug)]
pub(crate) struct ConnectErrorLogger(pub Option<SqliteFiles>);

impl HandleError<Error> for ConnectErrorLogger {
    fn handle_error(&self, error: Error) {
        if self.0.as_ref().is_some_and(|files| files.check().is_err()) {
            return;
        }
        tracing::warn!(%error, "cannot open a database connection");
    }
}
