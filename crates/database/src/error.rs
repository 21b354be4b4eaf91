//! What can go wrong with a database, as a service needs to tell it apart.

use diesel::result::{DatabaseErrorKind, Error as Diesel};

/// A failed database call.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration cannot work; the text says what to change.
    #[error("{0}")]
    Setup(String),
    /// The database is out of reach, full, or too busy: nothing was changed and a repeat may succeed.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// The connection was lost during COMMIT, or that was not answered: whether the transaction happened, nobody can say.
    #[error("nobody knows how the commit ended: {0}")]
    CommitUnknown(String),
    /// The closure panicked; its transaction was rolled back.
    #[error("a database closure panicked")]
    Panicked,
    /// Any other failure, a violated constraint among them.
    #[error(transparent)]
    Query(Diesel),
}

impl Error {
    /// Which of these it is, in a word.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Setup(_) => "setup",
            Self::Unavailable(_) => "unavailable",
            Self::CommitUnknown(_) => "undecided",
            Self::Panicked => "panicked",
            Self::Query(_) => "query",
        }
    }
}

/// An error type that closures given to [`crate::Database::write`] may return.
pub trait DatabaseFailure: From<Error> + Send + 'static {
    /// The database error inside, if that is what it is; decides whether a transaction is run again.
    fn database(&self) -> Option<&Error>;
}

impl DatabaseFailure for Error {
    fn database(&self) -> Option<&Error> {
        Some(self)
    }
}

/// What SQLite and PostgreSQL say when the trouble is theirs and passes (lower case, parts of the message).
const PASSING: [&str; 13] = [
    "database is locked",
    "database or disk is full",
    "disk i/o error",
    "readonly database",
    "unable to open database file",
    "terminating connection",
    "connection to server",
    "server closed the connection",
    "no space left on device",
    "the database system is",
    "too many clients",
    "statement timeout",
    LOCK_TIMEOUT,
];
/// PostgreSQL gave up waiting for a lock.
const LOCK_TIMEOUT: &str = "lock timeout";

/// PostgreSQL does not write.
const READ_ONLY: &str = "in a read-only transaction";

impl From<Diesel> for Error {
    fn from(error: Diesel) -> Self {
        let passing = match &error {
            Diesel::DatabaseError(
                DatabaseErrorKind::ClosedConnection
                | DatabaseErrorKind::UnableToSendCommand
                | DatabaseErrorKind::ReadOnlyTransaction,
                _,
            )
            | Diesel::BrokenTransactionManager => true,
            Diesel::DatabaseError(DatabaseErrorKind::Unknown, info) => {
                let message = info.message().to_lowercase();
                PASSING.iter().any(|part| message.contains(part))
            }
            _ => false,
        };
        if passing { Self::Unavailable(error.to_string()) } else { Self::Query(error) }
    }
}

impl Error {
    /// True when a UNIQUE or PRIMARY KEY constraint of this table refused a row.
    pub fn is_unique_violation(&self, table: &str) -> bool {
        let Self::Query(Diesel::DatabaseError(DatabaseErrorKind::UniqueViolation, info)) = self else {
            return false;
        };
        // PostgreSQL names the table; SQLite only writes "UNIQUE constraint failed: table.column, …".
        match info.table_name() {
            Some(name) => name == table,
            None => info.message().split_once(": ").is_some_and(|(_, columns)| {
                columns.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'))
            }),
        }
    }

    /// True when PostgreSQL gave up waiting for a lock (`lock_timeout`).
    pub fn is_lock_timeout(&self) -> bool {
        matches!(self, Self::Unavailable(reason) if reason.contains(LOCK_TIMEOUT))
    }

    /// True when the server has become a standby, or somebody has closed it for writing.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self, Self::Unavailable(reason) if reason.contains(READ_ONLY))
    }

    /// True when the same transaction, run again, may go through.
    pub(crate) fn is_serialisation_failure(&self) -> bool {
        match self {
            Self::Query(Diesel::DatabaseError(DatabaseErrorKind::SerializationFailure, _)) => true,
            Self::Query(Diesel::DatabaseError(_, info)) => info.message().contains("deadlock detected"),
            _ => false,
        }
    }
}
