//! Opening, validating and retiring the connections of the pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use diesel::connection::{CacheSize, Connection as _, SimpleConnection};
use diesel::dsl::sql;
use diesel::r2d2::{HandleError, ManageConnection, PooledConnection, R2D2Connection};
use diesel::sql_types::Integer;
use diesel::{QueryResult, RunQueryDsl};
use secrecy::ExposeSecret;

use crate::connection::{self, SqliteMode};
use crate::sqlite_files::SqliteFiles;
use crate::{AnyConnection, DatabaseUrl, Error};

/// Opens the connections of the pool.
///
/// Diesel's own manager of a multi connection tries each backend in turn: it reports a wrong password as an invalid
/// URL, and creates a SQLite file for a mistyped URL.
pub(crate) struct ConnectionManager {
    pub url: DatabaseUrl,
    /// The files of SQLite. They are checked before the path is opened, which would create a missing file.
    pub files: Option<SqliteFiles>,
    /// The number of stalls of the server so far. A connection of an earlier epoch may be stalled too and is not
    /// reused.
    pub stall_epoch: Arc<AtomicU64>,
}

/// A connection of the pool.
pub(crate) struct ManagedConnection {
    pub connection: AnyConnection,
    /// The process id of the server's backend; 0 before the first use and on SQLite.
    backend_pid: i32,
    /// The stall epoch in which the connection was opened.
    pub stall_epoch: u64,
    current_stall_epoch: Arc<AtomicU64>,
    /// Uses since the prepared statements were last discarded.
    uses: u32,
}

/// A connection that returns to the pool when it is dropped.
pub(crate) type Checkout = PooledConnection<ConnectionManager>;

/// Uses of a connection after which its prepared statements are discarded. They are cached by their text, and a search
/// has one text for each combination of filters. Frequent statements are soon prepared again.
const MAX_STATEMENT_USES: u32 = 1000;

impl ManagedConnection {
    /// Prepares the connection for its next use and returns the process id of the server's backend.
    ///
    /// A new session is configured here and not by [`ConnectionManager::connect`]: a stalled server then blocks the
    /// thread of a call, which is watched, and not one of r2d2's few threads.
    pub(crate) fn prepare(&mut self, schema: &str) -> QueryResult<i32> {
        if let (0, AnyConnection::Postgres(c)) = (self.backend_pid, &mut self.connection) {
            connection::configure_session(c, schema)?;
            self.backend_pid = diesel::select(sql::<Integer>("pg_backend_pid()")).get_result(c)?;
        }
        self.uses += 1;
        if self.uses >= MAX_STATEMENT_USES {
            self.uses = 0;
            self.discard_statements()?;
        }
        Ok(self.backend_pid)
    }

    fn discard_statements(&mut self) -> QueryResult<()> {
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
        self.stall_epoch = u64::MAX;
    }

    /// Returns true if the server has not stalled since the connection was opened.
    pub(crate) fn is_current(&self) -> bool {
        self.stall_epoch == self.current_stall_epoch.load(Ordering::Relaxed)
    }
}

impl ManageConnection for ConnectionManager {
    type Connection = ManagedConnection;
    type Error = Error;

    fn connect(&self) -> Result<ManagedConnection, Error> {
        let stall_epoch = self.stall_epoch.load(Ordering::Relaxed);
        self.files.as_ref().map_or(Ok(()), SqliteFiles::check)?;
        let connection = match &self.url {
            DatabaseUrl::Sqlite(path) => {
                AnyConnection::Sqlite(connection::open_sqlite(path, SqliteMode::QueryOnly)?)
            }
            DatabaseUrl::Postgres(url) => {
                AnyConnection::Postgres(connection::connect_postgres(url.expose_secret())?)
            }
        };
        let current_stall_epoch = self.stall_epoch.clone();
        Ok(ManagedConnection { connection, backend_pid: 0, stall_epoch, current_stall_epoch, uses: 0 })
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
