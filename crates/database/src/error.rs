//! Errors of database calls, in the classes that services distinguish.

use diesel::result::{DatabaseErrorKind, Error as DieselError};

/// A failed database call.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration is unusable. The text says what to change.
    #[error("{0}")]
    Setup(String),
    /// The database is unreachable, full or overloaded. Nothing was changed, and a retry may succeed.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// The connection failed during COMMIT, or COMMIT was not answered. The transaction may have been committed.
    #[error("the outcome of the commit is unknown: {0}")]
    CommitUnknown(String),
    /// The closure panicked. Its transaction was rolled back.
    #[error("a database closure panicked")]
    Panicked,
    /// Any other failure, such as a violated constraint.
    #[error(transparent)]
    Query(DieselError),
}

impl Error {
    /// Returns the error of a call that the watchdog has abandoned. Its caller has received another error.
    pub(crate) fn abandoned() -> Self {
        Self::Unavailable("the call was abandoned".into())
    }

    /// Returns the value of `error.type` in traces.
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

/// An error type that closures of [`crate::Database::read`] and [`crate::Database::write`] may return.
pub trait DatabaseFailure: From<Error> + Send + 'static {
    /// Returns the database error inside, if any. It decides whether a transaction is retried.
    fn database(&self) -> Option<&Error>;
}

impl DatabaseFailure for Error {
    fn database(&self) -> Option<&Error> {
        Some(self)
    }
}

/// Lower-case parts of the messages with which SQLite, PostgreSQL and Citus report temporary failures.
const TEMPORARY_FAILURES: [&str; 20] = [
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
    "connection to the remote node",
    "connection establishment for node",
    "connection marked as essential",
    "failed to prepare transaction",
    "execution cannot recover from multiple",
    "the total number of connections on the",
    "postmaster was shut down",
];
/// Part of PostgreSQL's message when `lock_timeout` expires.
const LOCK_TIMEOUT: &str = "lock timeout";

/// Parts of the messages of PostgreSQL and Citus about a deadlock.
const DEADLOCKS: [&str; 2] = ["deadlock detected", "distributed deadlock"];

/// Begins the reason of a write that a read-only server or transaction has refused. PostgreSQL translates its messages.
const READ_ONLY: &str = "the server is read-only";

impl From<DieselError> for Error {
    fn from(error: DieselError) -> Self {
        if let DieselError::DatabaseError(DatabaseErrorKind::ReadOnlyTransaction, _) = &error {
            return Self::Unavailable(format!("{READ_ONLY}: {error}"));
        }
        let is_temporary = match &error {
            DieselError::DatabaseError(
                DatabaseErrorKind::ClosedConnection | DatabaseErrorKind::UnableToSendCommand,
                _,
            )
            | DieselError::BrokenTransactionManager => true,
            DieselError::DatabaseError(DatabaseErrorKind::Unknown, info) => {
                let message = info.message().to_lowercase();
                TEMPORARY_FAILURES.iter().any(|part| message.contains(part))
            }
            _ => false,
        };
        if is_temporary { Self::Unavailable(error.to_string()) } else { Self::Query(error) }
    }
}

impl Error {
    /// Returns true if a row violates a UNIQUE or PRIMARY KEY constraint of this table.
    pub fn is_unique_violation(&self, table: &str) -> bool {
        let Self::Query(DieselError::DatabaseError(DatabaseErrorKind::UniqueViolation, info)) = self else {
            return false;
        };
        // PostgreSQL reports the table, or with Citus the part of it: `table_102008`.
        if let Some(name) = info.table_name() {
            return name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_') == table;
        }
        // A worker of Citus reports the constraint, whose name begins with that of the table. SQLite has only the
        // message "UNIQUE constraint failed: table.column, …".
        let is_of_table =
            |text: &str, separator| text.strip_prefix(table).is_some_and(|rest| rest.starts_with(separator));
        match info.message().split_once("unique constraint \"") {
            Some((_, constraint)) => is_of_table(constraint, '_'),
            None => info.message().split_once(": ").is_some_and(|(_, columns)| is_of_table(columns, '.')),
        }
    }

    /// Returns true if a statement of PostgreSQL waited for a lock longer than `lock_timeout`.
    pub fn is_lock_timeout(&self) -> bool {
        matches!(self, Self::Unavailable(reason) if reason.contains(LOCK_TIMEOUT))
    }

    /// Returns true if the server reported this failure of a statement, which has then changed nothing. Otherwise the
    /// connection failed, maybe after a commit.
    pub(crate) fn is_of_statement(reason: &str) -> bool {
        let reason = reason.to_lowercase();
        ["no space left on device", "statement timeout", LOCK_TIMEOUT, READ_ONLY]
            .iter()
            .any(|part| reason.contains(part))
    }

    /// Returns true if the server is a standby or in read-only mode.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self, Self::Unavailable(reason) if reason.contains(READ_ONLY))
    }

    /// Returns true if the transaction lost against a concurrent one, so that a retry may succeed.
    pub(crate) fn is_serialization_failure(&self) -> bool {
        match self {
            Self::Query(DieselError::DatabaseError(DatabaseErrorKind::SerializationFailure, _)) => true,
            Self::Query(DieselError::DatabaseError(_, info)) => {
                DEADLOCKS.iter().any(|part| info.message().contains(part))
            }
            _ => false,
        }
    }
}
