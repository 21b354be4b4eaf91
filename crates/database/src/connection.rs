//! The connection that queries are written against, and how each kind is opened.
#![allow(missing_docs, reason = "the MultiConnection derive makes undocumented items")]

use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;

use crate::{Error, Target};

/// A connection to either database. Queries built with Diesel run on it unchanged.
#[derive(diesel::MultiConnection)]
pub enum AnyConnection {
    /// PostgreSQL 13 or later.
    Postgres(PgConnection),
    /// SQLite, compiled in.
    Sqlite(SqliteConnection),
}

/// Writes an expression once and compiles it for each database: for what the multi backend lacks
/// (an INSERT of many rows, ON CONFLICT).
#[macro_export]
macro_rules! dispatch {
    ($connection:expr, $c:ident => $e:expr) => {
        match $connection {
            $crate::AnyConnection::Postgres($c) => $e,
            $crate::AnyConnection::Sqlite($c) => $e,
        }
    };
}

/// What a SQLite connection is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Reader,
    Writer,
}

/// Opens the file; WAL, and every commit on the disk before it is answered.
pub(crate) fn sqlite(path: &Path, role: Role) -> Result<SqliteConnection, Error> {
    let mut connection = SqliteConnection::establish(&path.to_string_lossy()).map_err(|e| {
        Error::Setup(format!(
            "cannot open the database {}: {e}: check that the folder and the file can be written",
            path.display()
        ))
    })?;
    // A large write remembers each page for every statement that changes it: hundreds of MB that memory is not for.
    // Readers find what is mapped where it lies, and keep pages (KiB) only of what a file has beyond that.
    // Deleted rows, which may hold tokens, are overwritten in the database file. FAST overwrites them in pages that stay
    // in use, at no measurable cost. ON also overwrites pages that become free, and halves the rate of small writes where
    // most rows are deleted again. See [`with_secure_delete`].
    let (query_only, temp_store, cache, secure_delete) = match role {
        Role::Reader => ("ON", "MEMORY", 8192, "OFF"),
        Role::Writer => ("OFF", "FILE", 65536, "FAST"),
    };
    connection
        .batch_execute(&format!(
            "PRAGMA busy_timeout=5000; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;
             PRAGMA cache_size=-{cache}; PRAGMA mmap_size=268435456; PRAGMA temp_store={temp_store};
             PRAGMA query_only={query_only}; PRAGMA secure_delete={secure_delete};"
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

/// Deletes or changes rows with secrets. SQLite overwrites the pages that become free as well; PostgreSQL leaves that to
/// VACUUM.
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

/// Connects, within 5 s, and selects the service's schema.
pub(crate) fn postgres(url: &str, schema: &str) -> Result<PgConnection, Error> {
    let mut connection = connect(url)?;
    configure_session(&mut connection, schema)?;
    Ok(connection)
}

/// Connects, within 5 s, and says nothing yet. A dead network is noticed after 10 s, or 45 s where an answer is waited for.
pub(crate) fn connect(url: &str) -> Result<PgConnection, Error> {
    PgConnection::establish(&with_timeouts(url)).map_err(|e| {
        let reason = e.to_string().replace('\n', " ");
        let target = Target::Postgres(url.into());
        if let Some(host) = unresolved(&reason, &target) {
            return Error::Setup(format!(
                "the host {host} of database.url (DROVER_DATABASE__URL) cannot be resolved: name a host that this \
                 machine knows, as in postgres://USER:PASSWORD@HOST:5432/NAME"
            ));
        }
        // What libpq says of a URL that it cannot read has parts of it, which may be the password's.
        let understood =
            ["connection to server", "query parameter"].iter().any(|known| reason.contains(known));
        let reason =
            if understood { reason.trim() } else { "it is not understood; is everything percent-encoded?" };
        Error::Setup(format!(
            "cannot open the database {target}: {reason}: check database.url (DROVER_DATABASE__URL)"
        ))
    })
}

/// The host that libpq could not resolve. Of a URL that is not percent-encoded it may take a part of the password for
/// the host, which is not shown.
fn unresolved(reason: &str, target: &Target) -> Option<String> {
    let (_, rest) = reason.split_once("could not translate host name \"")?;
    let (host, _) = rest.split_once('"')?;
    let shown = target.to_string();
    let (_, rest) = shown.split_once("://")?;
    let hosts = rest.rsplit('@').next()?.split('/').next()?;
    let known = hosts.split(',').any(|known| known.split(':').next() == Some(host));
    Some(if known { host.to_owned() } else { "(which needs percent-encoding)".to_owned() })
}

/// Selects the service's schema and says how statements are to be run.
pub(crate) fn configure_session(connection: &mut PgConnection, schema: &str) -> QueryResult<()> {
    // What a client left open that is gone without a word must not keep its locks.
    // A statement that is planned once for all values takes the same way for one row and for a million (2 s instead of
    // 2 ms was seen); and what is compiled first (jit) is done by then.
    connection.batch_execute(&format!(
        "SET search_path TO \"{schema}\"; SET TIME ZONE 'UTC'; SET statement_timeout = '60s'; SET lock_timeout = '5s';
         SET idle_in_transaction_session_timeout = '60s';
         SET client_min_messages = warning; SET plan_cache_mode = force_custom_plan; SET jit = off"
    ))
}

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
