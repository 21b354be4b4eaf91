//! The connection type of all queries.
#![allow(missing_docs, reason = "the MultiConnection derive generates undocumented items")]

use diesel::connection::SimpleConnection;
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;

use crate::Error;

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
