//! The handle to SQLite's writer thread, which [commits writes in groups](super::group_commit).

use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use metrics::Histogram;
use parking_lot::{Mutex, RwLock};
use tokio::sync::{mpsc, oneshot};
use tracing::Span;

use super::checkpoints::LogCheckpoints;
use super::connect::{SqliteMode, open_sqlite};
use super::files::SqliteFiles;
use super::group_commit::{Job, Outcome, Scope, WriterThread, run_write};
use crate::metrics::{DatabaseMetrics, record_elapsed};
use crate::{AnyConnection, DatabaseFailure, Error, Options};

/// Writes that may wait for the writer thread. Further writes wait for a place in the queue, up to
/// [`Options::wait_timeout`].
const MAX_QUEUED: usize = 1024;

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
