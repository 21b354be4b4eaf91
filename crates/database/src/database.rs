//! The database handle.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use diesel::r2d2::R2D2Connection;
use metrics::Histogram;
use opentelemetry::KeyValue;

use crate::metrics::{DatabaseMetrics, client_span, record_elapsed, record_error};
use crate::migrate;
use crate::options::{parse_url, standby_options};
use crate::pool::Pool;
use crate::postgres::PlanMode;
use crate::sqlite::{Writer, checkpoint};
use crate::standby::{self, Standby};
use crate::{AnyConnection, DatabaseFailure, DatabaseUrl, Error, Migrations, Options, StandbyOptions};

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
    /// The standby for reads that may lag.
    standby: OnceLock<Arc<Standby>>,
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
                migrate::run(&url, &options, migrations())?;
            } else {
                migrate::check(&url, &options, migrations())?;
            }
            let metrics = DatabaseMetrics::new();
            let writer = match &url {
                DatabaseUrl::Sqlite(path) => Some(Writer::open(path, &options, metrics.clone())?),
                DatabaseUrl::Postgres(_) => None,
            };
            let files = writer.as_ref().map(|writer| writer.files.clone());
            let pool = Pool::open(url, files, &options, metrics.clone())?;
            Ok::<_, Error>(Inner { pool, writer, standby: OnceLock::new(), metrics, schema: options.schema })
        });
        let inner = opened.await.map_err(|_| Error::Panicked)??;
        Ok(Self(Arc::new(inner)))
    }

    /// Uses a standby for reads that may lag, once it can be reached and as long as it lags by at most its limit. The
    /// task that measures the lag ends soon after the last handle of the database is dropped.
    ///
    /// # Errors
    /// [`Error::Setup`] if one of the databases is not on PostgreSQL, or if Citus distributes the rows.
    pub fn follow_standby(&self, options: &Options, standby: StandbyOptions) -> Result<(), Error> {
        let options = standby_options(options, &standby)?;
        let followed = Arc::new(Standby::new(standby.max_lag));
        let (weak, primary) = (Arc::downgrade(&followed), self.0.pool.clone());
        if self.0.standby.set(followed).is_ok() {
            tokio::spawn(standby::follow(weak, primary, options));
        }
        Ok(())
    }

    /// Returns true on SQLite.
    pub fn is_sqlite(&self) -> bool {
        self.0.writer.is_some()
    }

    /// Returns true if other writes wait for the one that SQLite runs. A long one can then end early.
    pub fn has_waiting_writes(&self) -> bool {
        self.0.writer.as_ref().is_some_and(|writer| writer.queued() > 0)
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
    pub async fn read_with_reusable_plan<T, E, F>(&self, f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        let read = self.0.pool.read(PlanMode::reusable(), f);
        self.instrument("read", &self.0.metrics.reads, read).await
    }

    /// As [`Database::read`], for data that may be some seconds old: the standby is read if there is one and it lags by
    /// at most its limit. The closure runs again on the primary if the standby fails.
    ///
    /// # Errors
    /// As [`Database::read`].
    pub async fn read_from_standby<T, E, F>(&self, f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Clone + Send + 'static,
    {
        let Some((standby, pool)) = self.0.standby.get().and_then(Standby::current) else {
            return self.read(f).await;
        };
        let read = pool.read(PlanMode::Custom, {
            let mut f = f.clone();
            move |c: &mut AnyConnection| {
                standby.check_lag(c)?;
                f(c)
            }
        });
        match self.instrument("read", &self.0.metrics.reads, read).await {
            Err(error) if error.database().is_some() => {
                let reason = error.database().map(Error::to_string).unwrap_or_default();
                tracing::warn!(reason, "a read of the standby runs again on the primary");
                self.read(f).await
            }
            result => result,
        }
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
        let mut span = client_span(kind, || {
            let system = if self.is_sqlite() { "sqlite" } else { "postgresql" };
            [KeyValue::new("db.system.name", system), KeyValue::new("db.namespace", self.0.schema)]
        });
        let result = call.await;
        record_elapsed(histogram, started);
        if let Err(error) = &result
            && let Some(error) = error.database()
        {
            record_error(&mut span, error.kind());
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
        if let Some(standby) = self.0.standby.get() {
            self.0.metrics.update_lag(standby.lag());
        }
    }
}
