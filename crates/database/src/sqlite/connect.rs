//! How SQLite files are opened.

use std::path::Path;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;

use super::vfs;
use crate::Error;

/// Time that a statement of SQLite waits for a lock.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Size in bytes above which SQLite restarts the write-ahead log, and to which it then truncates the file. See
/// [`checkpoints`](super::checkpoints).
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
    let mut connection = SqliteConnection::establish(&sqlite_name(path)).map_err(|e| {
        Error::Setup(format!(
            "cannot open the database {}: {e}: check that the folder and the file can be written",
            path.display()
        ))
    })?;
    // - temp_store: a statement journal holds a copy of every page that a large write changes. That is hundreds of MB,
    //   so the writer keeps it in a file.
    // - cache_size, in KiB: readers use the memory map and cache only pages beyond it.
    // - mmap_size: readers keep the map when others commit. See [`vfs`].
    // - synchronous: without FULL, [`vfs`] would discard what is committed.
    // - wal_autocheckpoint: the writer's thread makes better checkpoints.
    // - secure_delete: deleted rows may hold tokens and are overwritten in the database file. FAST overwrites them in
    //   pages that remain in use, at no measurable cost. ON also overwrites pages that become free, which halves the
    //   rate of small writes where most rows are deleted again. See [`with_secure_delete`](crate::with_secure_delete).
    let (query_only, temp_store, cache, secure_delete) = match mode {
        SqliteMode::QueryOnly => ("ON", "MEMORY", 8192, "OFF"),
        SqliteMode::ReadWrite => ("OFF", "FILE", 65536, "FAST"),
    };
    let (busy_timeout, map) = (BUSY_TIMEOUT.as_millis(), vfs::MAX_MAPPED_BYTES);
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

/// Returns the name under which SQLite opens a file with [`vfs`], which only a URI can name.
fn sqlite_name(path: &Path) -> String {
    let name = path.to_string_lossy();
    match vfs::name() {
        None => name.into_owned(),
        Some(vfs) => {
            // An absolute path comes after the empty name of a host.
            let host = if path.is_absolute() { "//" } else { "" };
            let path = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            format!("file:{host}{path}?vfs={vfs}")
        }
    }
}
