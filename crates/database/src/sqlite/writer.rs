//! The thread that writes to SQLite. It runs the queued writes in one transaction, and one fsync commits all of them.
//!
//! A write is answered after the commit of its group. A write that fails is rolled back alone. If the commit fails, all
//! writes of the group fail.
//!
//! Writes run without savepoints: within one, SQLite keeps a copy of every page that a write changes, and in a
//! temporary file if these are many. If a write fails, the transaction is rolled back and the earlier writes of the
//! group run again. This group and the next ones then use savepoints, so that many failures do not repeat many writes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use diesel::QueryResult;
use diesel::connection::{AnsiTransactionManager, TransactionManager};
use diesel::sqlite::SqliteConnection;
use metrics::Histogram;
use parking_lot::{Mutex, RwLock};
use tokio::sync::{mpsc, oneshot};
use tracing::Span;

use super::checkpoints::LogCheckpoints;
use super::connect::{SqliteMode, open_sqlite};
use super::files::SqliteFiles;
use crate::connection::AnyTransactionManager;
use crate::metrics::{DatabaseMetrics, as_gauge_value, record_elapsed};
use crate::{AnyConnection, DatabaseFailure, Error, Options};

/// Writes that may wait for the writer thread. Further writes wait for a place in the queue, up to
/// [`Options::wait_timeout`].
const MAX_QUEUED: usize = 1024;

/// Maximum number of writes in a group.
const MAX_GROUP: usize = 256;
/// Time after which a group takes no further write, so that the first one is answered soon.
const MAX_GROUP_TIME: Duration = Duration::from_millis(20);

/// Groups that use savepoints after a failure made writes run again.
const GROUPS_WITH_SAVEPOINTS: u32 = 64;

/// The handle to the writer thread. When it is dropped, the thread runs the queued writes and ends.
pub(crate) struct Writer {
    /// The files of the database.
    pub files: SqliteFiles,
    /// `None` once the writer is closed.
    queue: RwLock<Option<mpsc::Sender<Box<dyn Job>>>>,
    /// `None` once someone waits for its end.
    thread: Mutex<Option<JoinHandle<()>>>,
    wait_timeout: Duration,
    metrics: DatabaseMetrics,
}

impl Writer {
    /// Opens the database and starts the thread.
    pub(crate) fn open(path: &Path, options: &Options, metrics: DatabaseMetrics) -> Result<Self, Error> {
        let (queue, jobs) = mpsc::channel(MAX_QUEUED);
        let connection = AnyConnection::Sqlite(open_sqlite(path, SqliteMode::ReadWrite)?);
        let files = SqliteFiles::new(path)?;
        let thread = WriterThread {
            jobs,
            connection,
            path: path.to_owned(),
            files: files.clone(),
            checkpoints: LogCheckpoints::new(files.clone()),
            metrics: metrics.clone(),
            groups_with_savepoints: 0,
        };
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || thread.run())
            .map_err(|e| Error::Setup(format!("cannot start the writer thread: {e}")))?;
        let (queue, thread) = (RwLock::new(Some(queue)), Mutex::new(Some(thread)));
        Ok(Self { files, queue, thread, wait_timeout: options.wait_timeout, metrics })
    }

    /// Runs a closure on the writer thread and returns its result after the commit.
    pub(crate) async fn write<T, E, F>(&self, f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        let Some(queue) = self.queue.read().clone() else {
            return Err(Error::unavailable("the database is closed").into());
        };
        let (sender, receiver) = oneshot::channel();
        let (span, queued, writer_wait) =
            (Span::current(), Some(Instant::now()), self.metrics.writer_wait.clone());
        let job = Box::new(QueuedWrite { f, result: None, sender, span, queued, writer_wait });
        if tokio::time::timeout(self.wait_timeout, queue.send(job)).await.is_err() {
            self.metrics.queue_full.increment(1);
            return Err(Error::unavailable("too many writes are waiting").into());
        }
        // The thread drops jobs that it cannot run, and with them their senders.
        receiver.await.unwrap_or_else(|_| Err(Error::unavailable("the write was not started").into()))
    }

    /// Returns the number of queued writes.
    pub(crate) fn queued(&self) -> usize {
        self.queue.read().as_ref().map_or(0, |queue| MAX_QUEUED - queue.capacity())
    }

    /// Refuses further writes, and waits until the queued ones are committed and the log is truncated.
    pub(crate) async fn close(&self) {
        drop(self.queue.write().take());
        let thread = self.thread.lock().take();
        if let Some(thread) = thread {
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

/// A closure in the queue, and where its result is sent.
struct QueuedWrite<T, E, F> {
    f: F,
    /// The result of the last run.
    result: Option<Result<T, E>>,
    sender: oneshot::Sender<Result<T, E>>,
    span: Span,
    /// `None` once it has run.
    queued: Option<Instant>,
    writer_wait: Histogram,
}

impl<T, E, F> Job for QueuedWrite<T, E, F>
where
    T: Send,
    E: DatabaseFailure,
    F: FnMut(&mut AnyConnection) -> Result<T, E> + Send,
{
    fn run(&mut self, connection: &mut AnyConnection, scope: Scope) -> Outcome {
        if let Some(queued) = self.queued.take() {
            record_elapsed(&self.writer_wait, queued);
        }
        if self.sender.is_closed() {
            return Outcome::Skipped;
        }
        let (result, is_lost) = self.span.in_scope(|| run_write(connection, scope, &mut self.f));
        let outcome = match &result {
            _ if is_lost => Outcome::TransactionLost,
            Ok(_) => Outcome::Succeeded,
            Err(_) => Outcome::Failed,
        };
        self.result = Some(result);
        outcome
    }

    fn reply(self: Box<Self>, committed: Result<(), &Error>) {
        let Some(result) = self.result else { return };
        let result = match committed {
            Ok(()) => result,
            // The text of `Unavailable` begins with what the new error says too.
            Err(Error::Unavailable(cause, reason)) => {
                result.and_then(|_| Err(Error::Unavailable(*cause, reason.clone()).into()))
            }
            Err(error) => result.and_then(|_| Err(Error::unavailable(error.to_string()).into())),
        };
        // Fails if the caller has gone meanwhile. The write stays committed.
        let _ = self.sender.send(result);
    }
}

/// A queued write.
trait Job: Send {
    /// Runs the write. Runs it again if the transaction was rolled back because another write failed.
    fn run(&mut self, connection: &mut AnyConnection, scope: Scope) -> Outcome;
    /// Sends the result of the last run to the caller, given the result of the commit.
    fn reply(self: Box<Self>, committed: Result<(), &Error>);
}

/// What a write is rolled back to when it fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The start of the transaction, by the thread.
    Transaction,
    /// A savepoint of its own.
    Savepoint,
}

/// The outcome of a [`Job`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Succeeded,
    /// In [`Scope::Transaction`] its changes are still to be rolled back.
    Failed,
    /// The caller has gone. Running the write would only delay others.
    Skipped,
    /// The write could not be rolled back alone, so that the group cannot be committed.
    TransactionLost,
}

/// The state of the writer thread.
struct WriterThread {
    jobs: mpsc::Receiver<Box<dyn Job>>,
    connection: AnyConnection,
    path: PathBuf,
    files: SqliteFiles,
    checkpoints: LogCheckpoints,
    metrics: DatabaseMetrics,
    /// How many of the following groups use savepoints.
    groups_with_savepoints: u32,
}

impl WriterThread {
    /// Runs writes until all senders are dropped, and truncates the log.
    fn run(mut self) {
        // The log that a killed process has left may be large.
        self.checkpoints.run_if_due(&mut self.connection);
        while let Some(first) = self.jobs.blocking_recv() {
            let mut group = Vec::new();
            let committed = self.run_group(first, &mut group);
            // If a file is missing, which was logged, opening the path would create an empty one.
            if let Err(error) = &committed
                && self.files.check().is_ok()
            {
                tracing::error!(%error, writes = group.len(), "a group of writes was not committed");
                self.reconnect();
            }
            self.metrics.group_size.record(as_gauge_value(group.len()));
            for job in group {
                job.reply(committed.as_ref().copied());
            }
            if committed.is_ok() {
                self.checkpoints.run_if_due(&mut self.connection);
            }
        }
        self.checkpoints.truncate(&mut self.connection);
        self.files.close();
    }

    /// Runs `first` and the writes queued behind it in one transaction and commits it. Adds them to `group`.
    fn run_group(&mut self, first: Box<dyn Job>, group: &mut Vec<Box<dyn Job>>) -> Result<(), Error> {
        // On failure `first` is dropped, and its caller receives "the write was not started".
        begin(&mut self.connection)?;
        let started = Instant::now();
        let mut has_savepoints = self.groups_with_savepoints > 0;
        self.groups_with_savepoints = self.groups_with_savepoints.saturating_sub(1);
        let mut next = Some(first);
        while let Some(mut job) = next {
            let scope =
                if has_savepoints && !group.is_empty() { Scope::Savepoint } else { Scope::Transaction };
            let (outcome, earlier) = (job.run(&mut self.connection, scope), group.len());
            if outcome != Outcome::Skipped {
                group.push(job);
            }
            if outcome == Outcome::TransactionLost {
                return Err(lost());
            }
            if outcome == Outcome::Failed && scope == Scope::Transaction {
                has_savepoints = true;
                self.repeat(&mut group[..earlier])?;
            }
            let is_open = group.len() < MAX_GROUP && started.elapsed() < MAX_GROUP_TIME;
            next = if is_open { self.jobs.try_recv().ok() } else { None };
        }
        let AnyConnection::Sqlite(c) = &mut self.connection else { return Ok(()) };
        if let Err(error) = self.files.check() {
            <AnsiTransactionManager as TransactionManager<SqliteConnection>>::rollback_transaction(c)?;
            return Err(error);
        }
        <AnsiTransactionManager as TransactionManager<SqliteConnection>>::commit_transaction(c)
            .map_err(Error::from)
    }

    /// Rolls the transaction back and runs these writes in a new one, each with a savepoint.
    fn repeat(&mut self, group: &mut [Box<dyn Job>]) -> Result<(), Error> {
        AnyTransactionManager::rollback_transaction(&mut self.connection)?;
        begin(&mut self.connection)?;
        if !group.is_empty() {
            self.groups_with_savepoints = GROUPS_WITH_SAVEPOINTS;
        }
        for job in group {
            if job.run(&mut self.connection, Scope::Savepoint) == Outcome::TransactionLost {
                return Err(lost());
            }
        }
        Ok(())
    }

    /// Replaces the connection, whose state is unknown after a failed commit.
    fn reconnect(&mut self) {
        match open_sqlite(&self.path, SqliteMode::ReadWrite) {
            Ok(connection) => self.connection = AnyConnection::Sqlite(connection),
            Err(error) => {
                tracing::error!(%error, "cannot reopen the database; the writer keeps its connection");
            }
        }
    }
}

fn lost() -> Error {
    Error::unavailable("the transaction was lost")
}

/// Runs the closure of a write. If it fails or panics, rolls it back to its savepoint, if it has one. The second value
/// is true if the transaction is lost: [`Outcome::TransactionLost`].
fn run_write<T, E: DatabaseFailure>(
    connection: &mut AnyConnection,
    scope: Scope,
    f: &mut impl FnMut(&mut AnyConnection) -> Result<T, E>,
) -> (Result<T, E>, bool) {
    if scope == Scope::Savepoint
        && let Err(e) = AnyTransactionManager::begin_transaction(connection)
    {
        return (Err(Error::from(e).into()), true);
    }
    let outer_depth = depth(connection);
    let mut result =
        catch_unwind(AssertUnwindSafe(|| f(connection))).unwrap_or_else(|_| Err(Error::Panicked.into()));
    // A panic leaves the closure's own savepoints open.
    while result.is_err()
        && depth(connection) > outer_depth
        && AnyTransactionManager::rollback_transaction(connection).is_ok()
    {}
    if depth(connection) != outer_depth {
        let error = Error::unavailable("the closure ended a transaction that it had not begun");
        return (result.and_then(|_| Err(error.into())), true);
    }
    let ended = match (&result, scope) {
        (_, Scope::Transaction) => Ok(()),
        (Ok(_), Scope::Savepoint) => AnyTransactionManager::commit_transaction(connection),
        (Err(_), Scope::Savepoint) => AnyTransactionManager::rollback_transaction(connection),
    };
    if let Err(e) = ended {
        result = result.and_then(|_| Err(Error::from(e).into()));
        return (result, true);
    }
    (result, false)
}

/// Returns the number of open transactions and savepoints, or `None` if the connection has lost track of them.
fn depth(connection: &mut AnyConnection) -> Option<u32> {
    let status = AnyTransactionManager::transaction_manager_status_mut(connection);
    status.transaction_depth().ok().flatten().map(u32::from)
}

fn begin(connection: &mut AnyConnection) -> QueryResult<()> {
    let AnyConnection::Sqlite(c) = connection else { return Ok(()) };
    AnsiTransactionManager::begin_transaction_sql(c, "BEGIN IMMEDIATE")
}
