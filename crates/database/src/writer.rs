//! The handle to SQLite's writer thread, which [commits writes in groups](crate::group_commit).

use std::path::Path;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tracing::Span;

use crate::connection::{self, SqliteMode};
use crate::group_commit::{Job, JobOutcome, WriterThread, run_write};
use crate::metrics::{DatabaseMetrics, record_elapsed};
use crate::sqlite_files::SqliteFiles;
use crate::{AnyConnection, DatabaseFailure, Error, Options};

/// Writes that may wait for the writer thread. Further writes wait for a place in the queue, up to `Options::wait`.
const MAX_QUEUED: usize = 1024;

/// The handle to the writer thread. When it is dropped, the thread runs the queued writes and ends.
pub(crate) struct Writer {
    /// The files of the database.
    pub files: SqliteFiles,
    queue: mpsc::Sender<Job>,
    wait: Duration,
    metrics: DatabaseMetrics,
}

impl Writer {
    /// Opens the database and starts the thread.
    pub(crate) fn open(path: &Path, options: &Options, metrics: DatabaseMetrics) -> Result<Self, Error> {
        let (queue, jobs) = mpsc::channel(MAX_QUEUED);
        let connection = AnyConnection::Sqlite(connection::open_sqlite(path, SqliteMode::ReadWrite)?);
        let files = SqliteFiles::new(path)?;
        let thread = WriterThread {
            jobs,
            connection,
            path: path.to_owned(),
            files: files.clone(),
            metrics: metrics.clone(),
        };
        std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || thread.run())
            .map_err(|e| Error::Setup(format!("cannot start the writer thread: {e}")))?;
        Ok(Self { files, queue, wait: options.wait, metrics })
    }

    /// Runs a closure on the writer thread and returns its result after the commit.
    pub(crate) async fn write<T, E, F>(&self, mut f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let span = Span::current();
        let (queued, writer_wait) = (Instant::now(), self.metrics.writer_wait.clone());
        let job: Job = Box::new(move |connection, scope| {
            record_elapsed(&writer_wait, queued);
            if sender.is_closed() {
                // The caller has gone. Running the write would only delay others.
                return JobOutcome { reply: None, is_transaction_lost: false };
            }
            let (result, is_transaction_lost) = span.in_scope(|| run_write(connection, scope, &mut f));
            let reply = move |committed: Result<(), &Error>| {
                let result = match committed {
                    Ok(()) => result,
                    // The text of `Unavailable` begins with what the new error says too.
                    Err(Error::Unavailable(reason)) => {
                        result.and_then(|_| Err(Error::Unavailable(reason.clone()).into()))
                    }
                    Err(error) => result.and_then(|_| Err(Error::Unavailable(error.to_string()).into())),
                };
                // Fails if the caller has gone meanwhile. The write stays committed.
                let _ = sender.send(result);
            };
            JobOutcome { reply: Some(Box::new(reply)), is_transaction_lost }
        });
        if tokio::time::timeout(self.wait, self.queue.send(job)).await.is_err() {
            self.metrics.queue_full.increment(1);
            return Err(Error::Unavailable("too many writes are waiting".into()).into());
        }
        // The thread drops jobs that it cannot run, and with them their senders.
        receiver.await.unwrap_or_else(|_| Err(Error::Unavailable("the write was not started".into()).into()))
    }

    /// Returns the number of queued writes.
    pub(crate) fn queued(&self) -> usize {
        MAX_QUEUED - self.queue.capacity()
    }
}
