//! Group commit for SQLite: one thread runs the queued writes in one transaction, and one fsync commits all of them.
//!
//! A write is answered after the commit of its group. A write that fails is rolled back alone. If the commit fails, all
//! writes of the group fail. The first write of a group runs without a savepoint: within one, SQLite keeps a copy of
//! every page that each statement of a large write changes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use diesel::QueryResult;
use diesel::connection::{AnsiTransactionManager, TransactionManager};
use diesel::sqlite::SqliteConnection;
use tokio::sync::mpsc;

use crate::connection::{self, AnyTransactionManager, SqliteMode};
use crate::metrics::{DatabaseMetrics, as_gauge_value};
use crate::sqlite_files::SqliteFiles;
use crate::{AnyConnection, DatabaseFailure, Error};

/// Maximum number of writes in a group.
const MAX_GROUP: usize = 256;
/// Time after which a group takes no further write, so that the first one is answered soon.
const MAX_GROUP_TIME: Duration = Duration::from_millis(20);

/// Runs one write in the given scope.
pub(crate) type Job = Box<dyn FnOnce(&mut AnyConnection, Scope) -> JobOutcome + Send>;

/// Sends the result of a write to its caller, given the result of the commit.
pub(crate) type Reply = Box<dyn FnOnce(Result<(), &Error>) + Send>;

/// What a write is rolled back to when it fails.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The start of the transaction. For the first write of a group.
    Transaction,
    /// A savepoint of its own. For all other writes.
    Savepoint,
}

/// The outcome of a [`Job`].
pub(crate) struct JobOutcome {
    /// `None` if the write was skipped.
    pub reply: Option<Reply>,
    /// True if the write could not be rolled back alone, so that the group cannot be committed.
    pub is_transaction_lost: bool,
}

/// The state of the writer thread.
pub(crate) struct WriterThread {
    pub jobs: mpsc::Receiver<Job>,
    pub connection: AnyConnection,
    pub path: PathBuf,
    pub files: SqliteFiles,
    pub metrics: DatabaseMetrics,
}

impl WriterThread {
    /// Runs writes until all senders are dropped.
    pub(crate) fn run(mut self) {
        while let Some(first) = self.jobs.blocking_recv() {
            let mut replies = Vec::new();
            let committed = self.run_group(first, &mut replies);
            // If a file is missing, which was logged, opening the path would create an empty one.
            if let Err(error) = &committed
                && self.files.check().is_ok()
            {
                tracing::error!(%error, writes = replies.len(), "a group of writes was not committed");
                self.reconnect();
            }
            self.metrics.group_size.record(as_gauge_value(replies.len()));
            for reply in replies {
                reply(committed.as_ref().copied());
            }
        }
        self.files.close();
    }

    /// Runs `first` and the writes queued behind it in one transaction and commits it.
    fn run_group(&mut self, first: Job, replies: &mut Vec<Reply>) -> Result<(), Error> {
        // On failure `first` is dropped, and its caller receives "the write was not started".
        begin(&mut self.connection)?;
        let started = Instant::now();
        let mut next = Some(first);
        while let Some(job) = next {
            let scope = if replies.is_empty() { Scope::Transaction } else { Scope::Savepoint };
            let outcome = job(&mut self.connection, scope);
            replies.extend(outcome.reply);
            if outcome.is_transaction_lost {
                return Err(Error::Unavailable("the transaction was lost".into()));
            }
            let is_open = replies.len() < MAX_GROUP && started.elapsed() < MAX_GROUP_TIME;
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

    /// Replaces the connection, whose state is unknown after a failed commit.
    fn reconnect(&mut self) {
        match connection::open_sqlite(&self.path, SqliteMode::ReadWrite) {
            Ok(connection) => self.connection = AnyConnection::Sqlite(connection),
            Err(error) => {
                tracing::error!(%error, "cannot reopen the database; the writer keeps its connection");
            }
        }
    }
}

/// Runs the closure of a write and rolls it back if it fails or panics. The second value is
/// [`JobOutcome::is_transaction_lost`].
pub(crate) fn run_write<T, E: DatabaseFailure>(
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
        let error = Error::Unavailable("the closure ended a transaction that it had not begun".into());
        return (result.and_then(|_| Err(error.into())), true);
    }
    let ended = match (&result, scope) {
        (Ok(_), Scope::Transaction) => Ok(()),
        (Ok(_), Scope::Savepoint) => AnyTransactionManager::commit_transaction(connection),
        (Err(_), Scope::Transaction) => {
            AnyTransactionManager::rollback_transaction(connection).and_then(|()| begin(connection))
        }
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
