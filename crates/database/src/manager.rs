//! The connections of a pool: how one is opened, and when it is used no longer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use diesel::connection::{CacheSize, Connection as _, SimpleConnection};
use diesel::dsl::sql;
use diesel::r2d2::{HandleError, ManageConnection, PooledConnection, R2D2Connection};
use diesel::sql_types::Integer;
use diesel::{QueryResult, RunQueryDsl};
use secrecy::ExposeSecret;

use crate::connection::{self, Role};
use crate::file::OpenFile;
use crate::{AnyConnection, Error, Target};

/// Opens connections by the URL and nothing else. (Diesel's own manager tries each backend in turn: a wrong
/// password becomes "invalid URL", a mistyped URL a new SQLite file.)
pub(crate) struct Manager {
    pub target: Target,
    /// The file of SQLite. Where it is gone, opening its path would make an empty one.
    pub file: Option<OpenFile>,
    /// How often the server was silent. What was opened before has heard as little since, and is used no longer.
    pub stall_epoch: Arc<AtomicU64>,
}

/// A connection of the pool.
pub(crate) struct Pooled {
    pub connection: AnyConnection,
    /// The number of the server's process, 0 before it is asked and on SQLite.
    backend: i32,
    /// Those of the server that it has seen.
    pub stall_epoch: u64,
    /// Of the manager.
    now: Arc<AtomicU64>,
    uses: u32,
}

/// A connection that goes back to the pool when it is dropped.
pub(crate) type Checkout = PooledConnection<Manager>;

/// Statements are kept by their text, of which a search has as many as there are ways to put its filters together. After
/// so many uses they are forgotten; those that are asked for most are prepared again soon.
const MAX_STATEMENT_USES: u32 = 1000;

impl Pooled {
    /// Makes it ready for another use, and tells the number of the server's process. A new one is spoken to here, where a
    /// silent server is found out, and not by r2d2's few threads.
    pub(crate) fn ready(&mut self, schema: &str) -> QueryResult<i32> {
        if let (0, AnyConnection::Postgres(c)) = (self.backend, &mut self.connection) {
            connection::configure_session(c, schema)?;
            self.backend = diesel::select(sql::<Integer>("pg_backend_pid()")).get_result(c)?;
        }
        self.uses += 1;
        if self.uses >= MAX_STATEMENT_USES {
            self.uses = 0;
            self.connection.set_prepared_statement_cache_size(CacheSize::Disabled);
            let forgotten = match &mut self.connection {
                AnyConnection::Postgres(c) => c.batch_execute("DEALLOCATE ALL"),
                AnyConnection::Sqlite(_) => Ok(()),
            };
            self.connection.set_prepared_statement_cache_size(CacheSize::Unbounded);
            forgotten?;
        }
        Ok(self.backend)
    }

    /// Has it closed when it goes back: the server behind it is not what it was.
    pub(crate) fn retire(&mut self) {
        self.stall_epoch = u64::MAX;
    }

    /// True unless the server was silent since this was opened.
    pub(crate) fn is_fresh(&self) -> bool {
        self.stall_epoch == self.now.load(Ordering::Relaxed)
    }
}

impl ManageConnection for Manager {
    type Connection = Pooled;
    type Error = Error;

    fn connect(&self) -> Result<Pooled, Error> {
        let silences = self.stall_epoch.load(Ordering::Relaxed);
        self.file.as_ref().map_or(Ok(()), OpenFile::check)?;
        let connection = match &self.target {
            Target::Sqlite(path) => AnyConnection::Sqlite(connection::sqlite(path, Role::Reader)?),
            Target::Postgres(url) => AnyConnection::Postgres(connection::connect(url.expose_secret())?),
        };
        Ok(Pooled { connection, backend: 0, stall_epoch: silences, now: self.stall_epoch.clone(), uses: 0 })
    }

    fn is_valid(&self, pooled: &mut Pooled) -> Result<(), Error> {
        Ok(pooled.connection.ping()?)
    }

    fn has_broken(&self, pooled: &mut Pooled) -> bool {
        std::thread::panicking() || pooled.connection.is_broken() || !pooled.is_fresh()
    }
}

/// Tells why a connection could not be opened. A file that is gone has logged that itself, once.
#[derive(Debug)]
pub(crate) struct LogFailure(pub Option<OpenFile>);

impl HandleError<Error> for LogFailure {
    fn handle_error(&self, error: Error) {
        if self.0.as_ref().is_some_and(|file| file.check().is_err()) {
            return;
        }
        tracing::warn!(%error, "a database connection could not be opened");
    }
}
