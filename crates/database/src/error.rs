//! Errors of database calls, in the classes that services distinguish.

use diesel::result::{DatabaseErrorKind, Error as DieselError};

/// A failed database call.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration is unusable. The text says what to change.
    #[error("{0}")]
    Setup(String),
    /// The database is unreachable, full or overloaded. Nothing was changed, and a retry may succeed.
    #[error("the database is unavailable: {1}")]
    Unavailable(Cause, String),
    /// The connection failed during COMMIT, or COMMIT was not answered. The transaction may have been committed.
    #[error("the outcome of the commit is unknown: {0}")]
    CommitUnknown(String),
    /// The closure panicked. Its transaction was rolled back.
    #[error("a database closure panicked")]
    Panicked,
    /// The transaction lost against a concurrent one: a serialization failure or a deadlock.
    #[error(transparent)]
    Conflict(DieselError),
    /// Any other failure, such as a violated constraint.
    #[error(transparent)]
    Query(DieselError),
}

/// Why a database is unavailable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A statement of PostgreSQL waited for a lock longer than `lock_timeout`. It has changed nothing.
    LockTimeout,
    /// The server is a standby or in read-only mode. The statement has changed nothing.
    ReadOnly,
    /// The server reported that the statement failed, for example because its disk is full. It has changed nothing.
    Statement,
    /// Any other reason: there is no connection, or it failed, maybe after a commit, or SQLite cannot use its file.
    Other,
}

impl Error {
    /// Returns the error of a database that is unavailable for [`Cause::Other`].
    pub(crate) fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable(Cause::Other, reason.into())
    }

    /// Returns the error of a call that the watchdog has abandoned. Its caller has received another error.
    pub(crate) fn abandoned() -> Self {
        Self::unavailable("the call was abandoned")
    }

    /// Returns the value of `error.type` in traces.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Setup(_) => "setup",
            Self::Unavailable(..) => "unavailable",
            Self::CommitUnknown(_) => "undecided",
            Self::Panicked => "panicked",
            Self::Conflict(_) | Self::Query(_) => "query",
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

// Diesel hides the SQLSTATE of PostgreSQL and the result code of SQLite, except those that it converts to a
// [`DatabaseErrorKind`], and libpq has no SQLSTATE of a refused connection. So the other failures are recognised by the
// following texts, in this file and nowhere else. Sessions of PostgreSQL report errors in English for that.

/// Lower-case parts of the messages with which SQLite, PostgreSQL and Citus report temporary failures.
const TEMPORARY_FAILURES: [(Cause, &[&str]); 3] = [
    (Cause::LockTimeout, &["lock timeout"]),
    (Cause::Statement, &["statement timeout", "no space left on device"]),
    (
        Cause::Other,
        &[
            "database is locked",
            "database or disk is full",
            "disk i/o error",
            "readonly database",
            "unable to open database file",
            "terminating connection",
            "connection to server",
            "server closed the connection",
            "the database system is",
            "too many clients",
            "connection to the remote node",
            "connection establishment for node",
            "connection marked as essential",
            "failed to prepare transaction",
            "execution cannot recover from multiple",
            "the total number of connections on the",
            "postmaster was shut down",
        ],
    ),
];
/// Parts of the messages of PostgreSQL and Citus about a deadlock.
const DEADLOCKS: [&str; 2] = ["deadlock detected", "distributed deadlock"];
/// What libpq writes after the severity in a message that a server has sent while a connection was opened. The severity
/// itself is in the language of the server, which no setting of a session has changed yet. The messages of libpq about
/// servers that do not respond have no severity.
const END_OF_SEVERITY: &str = ":  ";
/// Part of the message with which PgBouncer refuses a connection because it has too many.
const POOLER_IS_FULL: &str = "no more connections allowed";

impl From<DieselError> for Error {
    fn from(error: DieselError) -> Self {
        use DatabaseErrorKind as Kind;
        let cause = match &error {
            DieselError::DatabaseError(Kind::SerializationFailure, _) => return Self::Conflict(error),
            DieselError::DatabaseError(Kind::ReadOnlyTransaction, _) => Some(Cause::ReadOnly),
            DieselError::DatabaseError(Kind::ClosedConnection | Kind::UnableToSendCommand, _)
            | DieselError::BrokenTransactionManager => Some(Cause::Other),
            DieselError::DatabaseError(Kind::Unknown, info) => {
                let message = info.message().to_lowercase();
                let has_one_of = |parts: &[&str]| parts.iter().any(|part| message.contains(part));
                if has_one_of(&DEADLOCKS) {
                    return Self::Conflict(error);
                }
                TEMPORARY_FAILURES.iter().find(|(_, parts)| has_one_of(parts)).map(|(cause, _)| *cause)
            }
            _ => None,
        };
        match cause {
            Some(cause) => Self::Unavailable(cause, error.to_string()),
            None => Self::Query(error),
        }
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
        matches!(self, Self::Unavailable(Cause::LockTimeout, _))
    }

    /// Returns true if the server is a standby or in read-only mode.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self, Self::Unavailable(Cause::ReadOnly, _))
    }

    /// Returns true if the transaction lost against a concurrent one, so that a retry may succeed.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict(_))
    }

    /// Returns true if this failure to connect means that the server responds, but has too many connections. A pooler
    /// also refuses connections for a server that does not respond.
    pub(crate) fn is_busy_server(&self, has_pooler: bool) -> bool {
        self.to_string().contains(if has_pooler { POOLER_IS_FULL } else { END_OF_SEVERITY })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_have_too_many_connections_respond() {
        let is_busy = |reason: &str, pooler| Error::Setup(reason.into()).is_busy_server(pooler);
        assert!(is_busy("connection to server failed: FATAL:  sorry, too many clients already", false));
        assert!(!is_busy("connection to server failed: Connection refused", false));
        assert!(is_busy("FATAL:  no more connections allowed (max_client_conn)", true));
        assert!(!is_busy("FATAL:  server login has been failing", true));
    }
}
