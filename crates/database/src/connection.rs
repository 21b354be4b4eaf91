//! The connection type of all queries, and how SQLite files are opened.
#![allow(missing_docs, reason = "the MultiConnection derive generates undocumented items")]

use std::path::Path;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;

use crate::{Error, mapped_vfs};

/// A connection to either database. Diesel queries run on it unchanged.
#[derive(diesel::MultiConnection)]
pub enum AnyConnection {
    /// PostgreSQL 13 or later.
    Postgres(PgConnection),
    /// SQLite, compiled into the binary.
    Sqlite(SqliteConnection),
}

/// Begins, commits and rolls back transactions and savepoints of [`AnyConnection`].
pub(crate) type AnyTransactionManager = <AnyConnection as Connection>::TransactionManager;

/// Compiles an expression once for each database. Needed where Diesel's multi backend has no support: INSERT of several
/// rows, ON CONFLICT.
#[macro_export]
macro_rules! dispatch {
    ($connection:expr, $c:ident => $e:expr) => {
        match $connection {
            $crate::AnyConnection::Postgres($c) => $e,
            $crate::AnyConnection::Sqlite($c) => $e,
        }
    };
}

/// Time that a statement of SQLite waits for a lock.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Size in bytes above which SQLite restarts the write-ahead log, and to which it then truncates the file. See
/// [`log_checkpoints`](crate::log_checkpoints).
pub(crate) const MAX_LOG_BYTES: u64 = 4 << 20;

/// The purpose of a SQLite connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SqliteMode {
    /// Statements cannot write. Opening still needs write access: it sets WAL mode and creates the log.
    QueryOnly,
    ReadWrite,
}

/// Opens a SQLite file in WAL mode. Every commit is synced to disk before it returns.
pub(crate) fn open_sqlite(path: &Path, mode: SqliteMode) -> Result<SqliteConnection, Error> {
    let mut connection = SqliteConnection::establish(&sqlite_name(path, mode)).map_err(|e| {
        Error::Setup(format!(
            "cannot open the database {}: {e}: check that the folder and the file can be written",
            path.display()
        ))
    })?;
    // - temp_store: a statement journal holds a copy of every page that a large write changes. That is hundreds of MB,
    //   so the writer keeps it in a file.
    // - cache_size, in KiB: readers use the memory map and cache only pages beyond it.
    // - mmap_size: readers keep the map when others commit. See [`mapped_vfs`].
    // - wal_autocheckpoint: the writer's thread makes better checkpoints.
    // - secure_delete: deleted rows may hold tokens and are overwritten in the database file. FAST overwrites them in
    //   pages that remain in use, at no measurable cost. ON also overwrites pages that become free, which halves the
    //   rate of small writes where most rows are deleted again. See [`with_secure_delete`].
    let (query_only, temp_store, cache, secure_delete) = match mode {
        SqliteMode::QueryOnly => ("ON", "MEMORY", 8192, "OFF"),
        SqliteMode::ReadWrite => ("OFF", "FILE", 65536, "FAST"),
    };
    let (busy_timeout, map) = (BUSY_TIMEOUT.as_millis(), mapped_vfs::MAX_MAPPED_BYTES);
    connection
        .batch_execute(&format!(
            "PRAGMA busy_timeout={busy_timeout}; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
             PRAGMA foreign_keys=ON; PRAGMA cache_size=-{cache}; PRAGMA mmap_size={map};
             PRAGMA temp_store={temp_store}; PRAGMA query_only={query_only}; PRAGMA secure_delete={secure_delete};
             PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit={MAX_LOG_BYTES};"
        ))
        .map_err(|e| {
            Error::Setup(format!(
                "cannot use the database {}: {e}: check that the folder and the file can be written and that the \
                 file is a SQLite database",
                path.display()
            ))
        })?;
    Ok(connection)
}

/// Returns the name under which SQLite opens a file. Readers use [`mapped_vfs`], which only a URI can name.
fn sqlite_name(path: &Path, mode: SqliteMode) -> String {
    let name = path.to_string_lossy();
    match mapped_vfs::name().filter(|_| mode == SqliteMode::QueryOnly) {
        None => name.into_owned(),
        Some(vfs) => {
            // An absolute path comes after the empty name of a host.
            let host = if path.is_absolute() { "//" } else { "" };
            let path = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            format!("file:{host}{path}?vfs={vfs}")
        }
    }
}

/// Runs a closure that deletes or changes rows with secrets. On SQLite, pages that become free are overwritten too. On
/// PostgreSQL, VACUUM removes the old rows.
///
/// # Errors
/// The error of the closure, or [`Error::Query`] if the setting cannot be changed.
pub fn with_secure_delete<T, E: From<Error>>(
    connection: &mut AnyConnection,
    f: impl FnOnce(&mut AnyConnection) -> Result<T, E>,
) -> Result<T, E> {
    set_secure_delete(connection, "ON")?;
    let result = f(connection);
    let restored = set_secure_delete(connection, "FAST");
    let value = result?;
    restored?;
    Ok(value)
}

fn set_secure_delete(connection: &mut AnyConnection, value: &str) -> Result<(), Error> {
    match connection {
        AnyConnection::Sqlite(c) => Ok(c.batch_execute(&format!("PRAGMA secure_delete={value}"))?),
        AnyConnection::Postgres(_) => Ok(()),
    }
}
