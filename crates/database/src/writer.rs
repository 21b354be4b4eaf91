//! Group commit for SQLite: one thread runs the waiting writes, each in a savepoint, and one fsync commits them.
//!
//! A write is answered only after the commit that holds it. One that fails is rolled back to its savepoint and
//! harms no other; if the commit itself fails, every write of the group is told so and none has happened. The first of
//! a group needs no savepoint, within which SQLite would keep a copy of each page for each statement of a large write.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use diesel::QueryResult;
use diesel::connection::{AnsiTransactionManager, TransactionManager};
use diesel::sqlite::SqliteConnection;
use tokio::sync::{mpsc, oneshot};
use tracing::Span;

use crate::connection::{self, Role};
use crate::file::OpenFile;
use crate::measured::{DatabaseMetrics, record};
use crate::{AnyConnection, DatabaseFailure, Error, Options};

/// A group is closed after this many writes or this long, so that the first does not wait for ever.
const MAX_GROUP: usize = 256;
const MAX_GROUP_TIME: Duration = Duration::from_millis(20);
const MAX_QUEUED: usize = 1024;

/// Runs one write, the first of its group or in a savepoint, and returns what answers it once the group is committed (or
/// was not).
type Job = Box<dyn FnOnce(&mut AnyConnection, Place) -> Ran + Send>;

/// Where in its group a write stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    First,
    Later,
}

/// Tells whoever waits how it went, given how the commit went.
type Answer = Box<dyn FnOnce(Result<(), &Error>) + Send>;

struct Ran {
    /// `None` if it was skipped.
    answer: Option<Answer>,
    /// The savepoint could not be rolled back: the whole transaction is lost.
    lost: bool,
}

/// The handle to the writing thread. The thread ends, after the last write, when this is dropped.
pub(crate) struct Writer {
    /// The files that it writes.
    pub file: OpenFile,
    queue: mpsc::Sender<Job>,
    wait: Duration,
    measured: DatabaseMetrics,
}

impl Writer {
    pub(crate) fn open(path: &Path, options: &Options, measured: DatabaseMetrics) -> Result<Self, Error> {
        let (queue, jobs) = mpsc::channel(MAX_QUEUED);
        let connection = AnyConnection::Sqlite(connection::sqlite(path, Role::Writer)?);
        let file = OpenFile::new(path)?;
        let (path, watched, own) = (path.to_owned(), file.clone(), measured.clone());
        std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || work(jobs, connection, &path, &watched, &own))
            .map_err(|e| Error::Setup(format!("cannot start the writing thread: {e}")))?;
        Ok(Self { file, queue, wait: options.wait, measured })
    }

    pub(crate) async fn write<T, E, F>(&self, mut f: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: DatabaseFailure,
        F: FnMut(&mut AnyConnection) -> Result<T, E> + Send + 'static,
    {
        let (send, receive) = oneshot::channel();
        let span = Span::current();
        let (begun, queued) = (Instant::now(), self.measured.queued.clone());
        let job: Job = Box::new(move |connection, place| {
            record(&queued, begun);
            if send.is_closed() {
                // The client has gone: its write would only delay those of others.
                return Ran { answer: None, lost: false };
            }
            let (result, lost) = span.in_scope(|| run(connection, place, &mut f));
            let answer = move |committed: Result<(), &Error>| {
                let answer = match committed {
                    Ok(()) => result,
                    Err(error) => result.and_then(|_| Err(Error::Unavailable(error.to_string()).into())),
                };
                // If the client has gone since it began, the write stands all the same.
                let _ = send.send(answer);
            };
            Ran { answer: Some(Box::new(answer)), lost }
        });
        if tokio::time::timeout(self.wait, self.queue.send(job)).await.is_err() {
            self.measured.full.increment(1);
            return Err(Error::Unavailable("too many writes are waiting".into()).into());
        }
        // Of one that has stopped the job is dropped.
        receive.await.unwrap_or_else(|_| Err(Error::Unavailable("the writer has stopped".into()).into()))
    }

    /// How many writes wait.
    pub(crate) fn waiting(&self) -> usize {
        MAX_QUEUED - self.queue.capacity()
    }
}

fn run<T, E: DatabaseFailure>(
    connection: &mut AnyConnection,
    place: Place,
    f: &mut impl FnMut(&mut AnyConnection) -> Result<T, E>,
) -> (Result<T, E>, bool) {
    if place == Place::Later
        && let Err(e) = Manager::begin_transaction(connection)
    {
        return (Err(Error::from(e).into()), true);
    }
    let own = depth(connection);
    let mut result =
        catch_unwind(AssertUnwindSafe(|| f(connection))).unwrap_or_else(|_| Err(Error::Panicked.into()));
    // A panic within a savepoint of the closure's own leaves that open too; the group must not end inside it.
    while result.is_err() && depth(connection) > own && Manager::rollback_transaction(connection).is_ok() {}
    if depth(connection) != own {
        let lost = Error::Unavailable("the closure left its transaction".into());
        return (result.and_then(|_| Err(lost.into())), true);
    }
    let released = match (&result, place) {
        (Ok(_), Place::First) => Ok(()),
        (Ok(_), Place::Later) => Manager::commit_transaction(connection),
        (Err(_), Place::First) => Manager::rollback_transaction(connection).and_then(|()| begin(connection)),
        (Err(_), Place::Later) => Manager::rollback_transaction(connection),
    };
    if let Err(e) = released {
        result = result.and_then(|_| Err(Error::from(e).into()));
        return (result, true);
    }
    (result, false)
}

type Manager = <AnyConnection as diesel::Connection>::TransactionManager;

/// How many transactions and savepoints are open; nothing if that is not known any more.
fn depth(connection: &mut AnyConnection) -> Option<u32> {
    let status = Manager::transaction_manager_status_mut(connection);
    status.transaction_depth().ok().flatten().map(u32::from)
}

fn work(
    mut jobs: mpsc::Receiver<Job>,
    mut connection: AnyConnection,
    path: &Path,
    file: &OpenFile,
    measured: &DatabaseMetrics,
) {
    while let Some(first) = jobs.blocking_recv() {
        let mut answers = Vec::new();
        let committed = group(&mut connection, first, &mut jobs, &mut answers, file);
        // Where the file is gone, which was logged, opening its path would make an empty one.
        if let Err(error) = &committed
            && file.check().is_ok()
        {
            tracing::error!(%error, writes = answers.len(), "a group of writes was not committed");
            // A fresh connection: whatever state the old one was left in goes with it.
            match connection::sqlite(path, Role::Writer) {
                Ok(fresh) => connection = AnyConnection::Sqlite(fresh),
                Err(error) => tracing::error!(%error, "the writer keeps its old connection"),
            }
        }
        measured.group_size.record(crate::small(answers.len()));
        for answer in answers {
            answer(committed.as_ref().copied());
        }
    }
    file.close();
}

fn group(
    connection: &mut AnyConnection,
    first: Job,
    jobs: &mut mpsc::Receiver<Job>,
    answers: &mut Vec<Answer>,
    file: &OpenFile,
) -> Result<(), Error> {
    let begun = begin(connection);
    let started = Instant::now();
    let mut next = Some(first);
    while let Some(job) = next {
        let ran = match &begun {
            Ok(()) => job(connection, if answers.is_empty() { Place::First } else { Place::Later }),
            // Not begun: the job is not run either; dropping it answers "the writer has stopped".
            Err(_) => break,
        };
        answers.extend(ran.answer);
        if ran.lost {
            return Err(Error::Unavailable("the transaction was lost".into()));
        }
        let open = answers.len() < MAX_GROUP && started.elapsed() < MAX_GROUP_TIME;
        next = if open { jobs.try_recv().ok() } else { None };
    }
    begun.map_err(Error::from)?;
    let AnyConnection::Sqlite(c) = connection else { return Ok(()) };
    if let Err(error) = file.check() {
        <AnsiTransactionManager as TransactionManager<SqliteConnection>>::rollback_transaction(c)?;
        return Err(error);
    }
    <AnsiTransactionManager as TransactionManager<SqliteConnection>>::commit_transaction(c)
        .map_err(Error::from)
}

fn begin(connection: &mut AnyConnection) -> QueryResult<()> {
    let AnyConnection::Sqlite(c) = connection else { return Ok(()) };
    AnsiTransactionManager::begin_transaction_sql(c, "BEGIN IMMEDIATE")
}
