//! SQLite and PostgreSQL behind one connection type, chosen by URL when a service starts.
//!
//! A service writes each query once, against [`AnyConnection`], and runs it through [`Database::read`] or
//! [`Database::write`]. What the two databases do differently (column types, transactions, migrations,
//! constraint errors) is settled here and nowhere else.

mod backup;
mod call;
mod clock;
mod connection;
mod error;
mod file;
mod manager;
mod measured;
mod migrate;
mod pool;
pub mod search;
pub mod spans;
mod target;
mod types;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use diesel::r2d2::R2D2Connection;
use metrics::Histogram;
use opentelemetry::KeyValue;
use secrecy::{ExposeSecret, SecretString};

pub use backup::Progress;
pub use clock::shared_now;
pub use connection::{AnyConnection, MultiBackend, with_secure_delete};
pub use diesel_migrations::EmbeddedMigrations;
pub use error::{DatabaseFailure, Error};
use measured::{DatabaseMetrics, PoolUsage, record};
pub use migrate::Migrations;
pub use target::Target;
pub use types::{Amount, AmountError, Id, IdSql, Json, JsonSql, Timestamp, TimestampSql};

/// How to reach a database and how much of it to use.
#[derive(Clone, Debug)]
pub struct Options {
    /// `sqlite://PATH` or `postgres://USER:PASSWORD@HOST[:PORT]/NAME`.
    pub url: SecretString,
    /// The schema of this service on PostgreSQL; SQLite has one file per service instead.
    pub schema: &'static str,
    /// Connections, and with them the number of statements that run at once; fewer on SQLite if there are fewer cores.
    pub pool_size: u32,
    /// Whether [`Database::open`] brings the schema up to date; otherwise it fails where that is not.
    pub migrate: bool,
    /// How long a call waits for a free connection, and for the first sign that the server is at work for it, before it is
    /// given up.
    pub wait: Duration,
}

/// An open database. Cheap to clone; all clones share one pool.
#[derive(Clone)]
pub struct Database(Arc<Inner>);

struct Inner {
    pool: pool::Pool,
    /// On SQLite, whose pool only reads.
    writer: Option<writer::Writer>,
    measured: DatabaseMetrics,
    schema: &'static str,
}

impl Database {
    /// Connects, brings the schema up to date and fills the pool. Migrations that a newer version has applied are left.
    ///
    /// # Errors
    /// One sentence for the person who starts the service: a malformed URL, an unwritable folder, a wrong
    /// password, a server out of reach, a migration that fails, or is missing where others apply them.
    pub async fn open(options: Options, migrations: fn() -> Vec<Migrations>) -> Result<Self, Error> {
        let opened = tokio::task::spawn_blocking(move || {
            let target = Target::parse(options.url.expose_secret())?;
            if options.migrate {
                migrate::run(&target, options.schema, migrations())?;
            } else {
                migrate::check(&target, options.schema, migrations())?;
            }
            let measured = DatabaseMetrics::new();
            let writer = match &target {
                Target::Sqlite(path) => Some(writer::Writer::open(path, &options, measured.clone())?),
                Target::Postgres(_) => None,
            };
            let file = writer.as_ref().map(|writer| writer.file.clone());
            let pool = pool::Pool::open(target, file, &options, measured.clone())?;
            Ok::<_, Error>(Inner { pool, writer, measured, schema: options.schema })
        });
        let inner = opened.await.map_err(|_| Error::Panicked)??;
        Ok(Self(Arc::new(inner)))
    }

    /// Brings the schema up to date and returns the names of the migrations that were applied.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn migrate(options: &Options, migrations: Vec<Migrations>) -> Result<Vec<String>, Error> {
        migrate::run(&Target::parse(options.url.expose_secret())?, options.schema, migrations)
    }

    /// The names of the migrations that [`Database::migrate`] would apply.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn pending(options: &Options, migrations: Vec<Migrations>) -> Result<Vec<String>, Error> {
        migrate::missing(&Target::parse(options.url.expose_secret())?, options.schema, migrations)
    }

    /// Fails if there are any.
    ///
    /// # Errors
    /// As [`Database::open`] where it may not apply them.
    pub fn check_migrated(options: &Options, migrations: Vec<Migrations>) -> Result<(), Error> {
        migrate::check(&Target::parse(options.url.expose_secret())?, options.schema, migrations)
    }

    /// Copies a SQLite database, which may be in use, to a new file: whole and checked, or not at all.
    ///
    /// # Errors
    /// One sentence on why there is no copy; on PostgreSQL, what makes one.
    pub fn backup(options: &Options, to: &Path, tell: impl FnMut(Progress)) -> Result<(), Error> {
        backup::run(&Target::parse(options.url.expose_secret())?, to, tell)
    }

    /// Connects once and changes nothing: no schema, no file.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub fn check(options: &Options) -> Result<(), Error> {
        match Target::parse(options.url.expose_secret())? {
            Target::Sqlite(path) if !path.exists() => Ok(()),
            Target::Sqlite(path) => connection::sqlite(&path, connection::Role::Reader).map(drop),
            Target::Postgres(url) => connection::postgres(url.expose_secret(), options.schema).map(drop),
        }
    }

    /// True on SQLite, where what PostgreSQL does by itself may be left to the service.
    pub fn is_sqlite(&self) -> bool {
        self.0.writer.is_some()
    }

    /// True when the database answers, or has so much to do that nobody can ask it. False when the SQLite file is gone.
    pub async fn ping(&self) -> bool {
        if let Some(file) = self.0.writer.as_ref().map(|writer| writer.file.clone()) {
            let checked = tokio::task::spawn_blocking(move || file.check());
            if !matches!(checked.await, Ok(Ok(()))) {
                return false;
            }
        }
        self.0.pool.is_busy() || self.read(|c| Ok::<_, Error>(c.ping()?)).await.is_ok()
    }

    /// Runs a closure that only reads. It may run again on a fresh connection if the first had died.
    ///
    /// # Errors
    /// What the closure returns, or [`Error::Unavailable`] through `E`.
    pub async fn read<T, E, F>(&self, f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        self.watched("read", &self.0.measured.reads, self.0.pool.read(f)).await
    }

    /// Runs a closure in a transaction that is durable before this returns `Ok`, and leaves nothing on `Err`.
    ///
    /// SQLite has one writer. PostgreSQL runs the closure at REPEATABLE READ, on one snapshot, and again when another
    /// transaction changed a row that this one changes too. So the closure may run more than once; and what must hold
    /// between different rows needs a constraint, which both databases enforce.
    ///
    /// # Errors
    /// What the closure returns, or [`Error::Unavailable`] through `E`.
    pub async fn write<T, E, F>(&self, f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        let histogram = &self.0.measured.writes;
        match &self.0.writer {
            Some(writer) => self.watched("write", histogram, writer.write(f)).await,
            None => self.watched("write", histogram, self.0.pool.write(f)).await,
        }
    }

    /// A call, with its span and how long it took.
    async fn watched<T, E: DatabaseFailure>(
        &self,
        kind: &'static str,
        histogram: &Histogram,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let begun = Instant::now();
        let mut span = spans::client_span(kind, || {
            let system = if self.is_sqlite() { "sqlite" } else { "postgresql" };
            [KeyValue::new("db.system.name", system), KeyValue::new("db.namespace", self.0.schema)]
        });
        let result = call.await;
        record(histogram, begun);
        if let Err(error) = &result
            && let Some(error) = error.database()
        {
            spans::failed(&mut span, error.kind());
        }
        result
    }

    /// Brings the metrics of what is in use just now up to date; for whoever shows them.
    pub fn measure(&self) {
        let (in_use, idle, most) = self.0.pool.load();
        let waiting = self.0.writer.as_ref().map_or(0, writer::Writer::waiting);
        self.0.measured.update(&PoolUsage { in_use, idle, most, waiting });
    }
}

/// A count for a metric.
fn small(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}
