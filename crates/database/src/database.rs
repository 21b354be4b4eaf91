//! The database handle.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use diesel::r2d2::R2D2Connection;
use metrics::Histogram;
use opentelemetry::KeyValue;
use secrecy::ExposeSecret;

use crate::backup::{self, BackupProgress};
use crate::connection::{self, SqliteMode};
use crate::log_checkpoints::checkpoint;
use crate::metrics::{DatabaseMetrics, record_elapsed};
use crate::migrate;
use crate::plan_mode::PlanMode;
use crate::pool::Pool;
use crate::spans;
use crate::writer::Writer;
use crate::{AnyConnection, DatabaseFailure, DatabaseUrl, Error, Migrations, Options};

/// Time that [`Database::truncate_log`] waits for readers, while writes wait for it.
const TRUNCATE_TIMEOUT: Duration = Duration::from_millis(250);

/// An open database. Clones share one pool.
#[derive(Clone)]
pub struct Database(Arc<Inner>);

struct Inner {
    /// On SQLite it only reads.
    pool: Pool,
    /// `None` on PostgreSQL.
    writer: Option<Writer>,
    metrics: DatabaseMetrics,
    schema: &'static str,
}

impl Database {
    /// Applies pending migrations, or checks that there are none, and opens the pool. Applied migrations that this
    /// version does not have are ignored.
    ///
    /// # Errors
    /// [`Error::Setup`] with one sentence for the operator: a malformed URL, an unwritable folder, a wrong password, an
    /// unreachable server, or a failed or missing migration.
    pub async fn open(options: Options, migrations: fn() -> Vec<Migrations>) -> Result<Self, Error> {
        let opened = tokio::task::spawn_blocking(move || {
            let url = parse_url(&options)?;
            if options.migrate {
                migrate::run(&url, options.schema, migrations())?;
            } else {
                migrate::check(&url, options.schema, migrations())?;
            }
            let metrics = DatabaseMetrics::new();
            let writer = match &url {
                DatabaseUrl::Sqlite(path) => Some(Writer::open(path, &options, metrics.clone())?),
                DatabaseUrl::Postgres(_) => None,
            };
            let files = writer.as_ref().map(|writer| writer.files.clone());
            let pool = Pool::open(url, files, &options, metrics.clone())?;
            Ok::<_, Error>(Inner { pool, writer, metrics, schema: options.schema })
        });
        let inner = opened.await.map_err(|_| Error::Panicked)??;
        Ok(Self(Arc::new(inner)))
    }

    /// Applies pending migrations and returns their names.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn migrate(options: &Options, migrations: Vec<Migrations>) -> Result<Vec<String>, Error> {
        migrate::run(&parse_url(options)?, options.schema, migrations)
    }

    /// Returns the names of the migrations that [`Database::migrate`] would apply.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn pending(options: &Options, migrations: Vec<Migrations>) -> Result<Vec<String>, Error> {
        migrate::pending(&parse_url(options)?, options.schema, migrations)
    }

    /// Checks that no migrations are pending.
    ///
    /// # Errors
    /// [`Error::Setup`] with the names of pending migrations; otherwise as [`Database::open`].
    pub fn check_migrated(options: &Options, migrations: Vec<Migrations>) -> Result<(), Error> {
        migrate::check(&parse_url(options)?, options.schema, migrations)
    }

    /// Copies a SQLite database, which may be in use, to a new file. The file appears only if the copy is complete and
    /// passes SQLite's integrity check.
    ///
    /// # Errors
    /// [`Error::Setup`] with one sentence for the operator. On PostgreSQL it names `pg_dump`.
    pub fn backup(
        options: &Options,
        to: &Path,
        on_progress: impl FnMut(BackupProgress),
    ) -> Result<(), Error> {
        backup::run(&parse_url(options)?, to, on_progress)
    }

    /// Connects once to check the options. Creates no schema and no file. Returns what was found, for people.
    ///
    /// # Errors
    /// As [`Database::open`]; also if the database is another service's.
    pub fn check(options: &Options, migrations: Vec<Migrations>) -> Result<String, Error> {
        let url = parse_url(options)?;
        let found = match &url {
            DatabaseUrl::Sqlite(path) if !path.exists() => {
                return Ok(format!("{} does not exist yet and will be created", path.display()));
            }
            DatabaseUrl::Sqlite(path) => {
                connection::open_sqlite(path, SqliteMode::QueryOnly)?;
                path.display().to_string()
            }
            DatabaseUrl::Postgres(url) => {
                connection::open_postgres(url.expose_secret(), options.schema)?;
                format!("PostgreSQL, schema {}", options.schema)
            }
        };
        let pending = migrate::pending(&url, options.schema, migrations)?.len();
        Ok(format!("{found}, {pending} migrations to be applied"))
    }

    /// Returns true on SQLite.
    pub fn is_sqlite(&self) -> bool {
        self.0.writer.is_some()
    }

    /// Returns true if the database responds, or if all connections are busy and calls succeed. Returns false if a file
    /// of SQLite is missing or replaced.
    pub async fn ping(&self) -> bool {
        if let Some(files) = self.0.writer.as_ref().map(|writer| writer.files.clone()) {
            let checked = tokio::task::spawn_blocking(move || files.check());
            if !matches!(checked.await, Ok(Ok(()))) {
                return false;
            }
        }
        self.0.pool.is_busy() || self.read(|c| Ok::<_, Error>(c.ping()?)).await.is_ok()
    }

    /// Runs a closure that only reads. It may run again on another connection if the first one was dead.
    ///
    /// # Errors
    /// The error of the closure, or [`Error::Unavailable`] through `E`.
    pub async fn read<T, E, F>(&self, f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        self.instrument("read", &self.0.metrics.reads, self.0.pool.read(PlanMode::Custom, f)).await
    }

    /// As [`Database::read`], for statements whose plan PostgreSQL may keep with the prepared statement: an index has
    /// their rows in order and all columns that they compare, so that the same plan is right for rare and for common
    /// values. Planning such a statement can take longer than executing it.
    ///
    /// # Errors
    /// As [`Database::read`].
    pub async fn read_in_index_order<T, E, F>(&self, f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        self.instrument("read", &self.0.metrics.reads, self.0.pool.read(PlanMode::Generic, f)).await
    }

    /// Runs a closure in a transaction. The transaction is durable when this returns `Ok`; on `Err` it is rolled back,
    /// except where [`Error::CommitUnknown`] says that the outcome is unknown.
    ///
    /// SQLite has one writer. PostgreSQL runs the closure on one snapshot (REPEATABLE READ), and again if a concurrent
    /// transaction changed a row that it changes too. So the closure may run more than once. A rule that spans several
    /// rows needs a constraint, which both databases enforce.
    ///
    /// # Errors
    /// The error of the closure, or [`Error::Unavailable`] or [`Error::CommitUnknown`] through `E`.
    pub async fn write<T, E, F>(&self, f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        let histogram = &self.0.metrics.writes;
        match &self.0.writer {
            Some(writer) => self.instrument("write", histogram, writer.write(f)).await,
            None => self.instrument("write", histogram, self.0.pool.write(f)).await,
        }
    }

    /// As [`Database::write`], for a closure that executes exactly one statement. PostgreSQL commits it by itself, in
    /// one round trip. A connection that fails meanwhile leaves the outcome unknown.
    ///
    /// # Errors
    /// As [`Database::write`].
    pub async fn write_statement<T, E, F>(&self, f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        if self.is_sqlite() {
            return self.write(f).await;
        }
        self.instrument("write", &self.0.metrics.writes, self.0.pool.write_statement(f)).await
    }

    /// Runs a call with a span and records its duration.
    async fn instrument<T, E: DatabaseFailure>(
        &self,
        kind: &'static str,
        histogram: &Histogram,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let started = Instant::now();
        let mut span = spans::client_span(kind, || {
            let system = if self.is_sqlite() { "sqlite" } else { "postgresql" };
            [KeyValue::new("db.system.name", system), KeyValue::new("db.namespace", self.0.schema)]
        });
        let result = call.await;
        record_elapsed(histogram, started);
        if let Err(error) = &result
            && let Some(error) = error.database()
        {
            spans::record_error(&mut span, error.kind());
        }
        result
    }

    /// Copies SQLite's write-ahead log into the database file and truncates it, so that it does not have the earlier
    /// contents of rows that were overwritten [securely](crate::with_secure_delete). Returns false if a reader
    /// prevented it. Does nothing on PostgreSQL.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if no connection is free.
    pub async fn truncate_log(&self) -> Result<bool, Error> {
        if !self.is_sqlite() {
            return Ok(true);
        }
        self.read(|c| Ok(checkpoint(c, "TRUNCATE", TRUNCATE_TIMEOUT))).await
    }

    /// Closes SQLite's writer: refuses further writes, waits for queued ones, copies the write-ahead log into the
    /// database file and truncates it. To be called before the process ends, which would not wait. Does nothing on
    /// PostgreSQL.
    pub async fn close(&self) {
        if let Some(writer) = &self.0.writer {
            writer.close().await;
        }
    }

    /// Sets the gauges of the pool and the writer to their current values. Called before metrics are exported.
    pub fn update_metrics(&self) {
        let queued_writes = self.0.writer.as_ref().map_or(0, Writer::queued);
        self.0.metrics.update(&self.0.pool.usage(), queued_writes);
    }
}

fn parse_url(options: &Options) -> Result<DatabaseUrl, Error> {
    DatabaseUrl::parse(options.url.expose_secret())
}
