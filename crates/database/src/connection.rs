//! The connection type of all queries, and how connections are opened and configured.
#![allow(missing_docs, reason = "the MultiConnection derive generates undocumented items")]

use std::path::Path;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;

use crate::{DatabaseUrl, Error, mapped_vfs};

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

/// Size in bytes above which the write-ahead log begins anew, and to which its file is truncated then. See
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

/// Connects to PostgreSQL with a timeout of 5 s and configures the session.
pub(crate) fn open_postgres(url: &str, schema: &str) -> Result<PgConnection, Error> {
    let mut connection = connect_postgres(url)?;
    configure_session(&mut connection, schema)?;
    Ok(connection)
}

/// Connects to PostgreSQL with a timeout of 5 s and sends no statement yet.
///
/// A dead network is detected after 10 s while data is being sent, and after 45 s while a reply is awaited.
pub(crate) fn connect_postgres(url: &str) -> Result<PgConnection, Error> {
    PgConnection::establish(&with_timeouts(url)).map_err(|e| {
        let reason = e.to_string().replace('\n', " ");
        let target = DatabaseUrl::Postgres(url.into());
        if let Some(host) = unresolved_host(&reason, &target) {
            return Error::Setup(format!(
                "the host {host} of database.url (DROVER_DATABASE__URL) cannot be resolved: name a host that this \
                 machine knows, as in postgres://USER:PASSWORD@HOST:5432/NAME"
            ));
        }
        // libpq's other messages quote parts of a URL that it cannot parse, which may be parts of the password.
        let is_safe = ["connection to server", "query parameter"].iter().any(|part| reason.contains(part));
        let reason = if is_safe { reason.trim() } else { "it cannot be parsed; is everything percent-encoded?" };
        Error::Setup(format!(
            "cannot open the database {target}: {reason}: check database.url (DROVER_DATABASE__URL)"
        ))
    })
}

/// Returns the host that libpq could not resolve, if `reason` says so. If the URL is not percent-encoded, libpq's host
/// may be a part of the password; the result then hides it.
fn unresolved_host(reason: &str, url: &DatabaseUrl) -> Option<String> {
    let (_, rest) = reason.split_once("could not translate host name \"")?;
    let (host, _) = rest.split_once('"')?;
    let redacted = url.to_string();
    let (_, rest) = redacted.split_once("://")?;
    let hosts = rest.rsplit('@').next()?.split('/').next()?;
    let is_host = hosts.split(',').any(|candidate| candidate.split(':').next() == Some(host));
    Some(if is_host { host.to_owned() } else { "(which needs percent-encoding)".to_owned() })
}

/// Selects the schema of the service and sets timeouts and planner options.
pub(crate) fn configure_session(connection: &mut PgConnection, schema: &str) -> QueryResult<()> {
    // - idle_in_transaction_session_timeout: releases the locks of a client that vanished within a transaction.
    // - plan_cache_mode: see [`PlanMode::Custom`].
    // - jit: most queries finish before they would be compiled.
    connection.batch_execute(&format!(
        "SET search_path TO \"{schema}\"; SET TIME ZONE 'UTC'; SET statement_timeout = '60s'; SET lock_timeout = '5s';
         SET idle_in_transaction_session_timeout = '60s';
         SET client_min_messages = warning; SET plan_cache_mode = force_custom_plan; SET jit = off"
    ))
}

/// Adds parameters for timeouts that the URL does not have.
fn with_timeouts(url: &str) -> String {
    let mut url = url.to_owned();
    for (name, value) in [
        ("connect_timeout", 5),
        ("tcp_user_timeout", 10_000),
        ("keepalives_idle", 30),
        ("keepalives_interval", 5),
        ("keepalives_count", 3),
    ] {
        if !url.contains(name) {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.extend([name, "=", &value.to_string()]);
        }
    }
    url
}
