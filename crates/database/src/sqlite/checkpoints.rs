//! Checkpoints that keep SQLite's write-ahead log small.
//!
//! SQLite's automatic checkpoint copies the log into the database file, but SQLite restarts the log only if no reader
//! uses it at that moment. Under constant reads it grows without limit, and every commit makes another checkpoint. So
//! the writer's thread makes a checkpoint that waits until each reader has begun another read. Reads continue
//! meanwhile; writes wait. The next commit truncates the log file to [`MAX_LOG_BYTES`].

use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::sql_types::Integer;
use diesel::{QueryResult, RunQueryDsl};

use super::connect::{BUSY_TIMEOUT, MAX_LOG_BYTES};
use super::files::SqliteFiles;
use crate::AnyConnection;

/// Time that a checkpoint waits for readers, while writes wait for it. Longer than a page of any search.
const READER_TIMEOUT: Duration = Duration::from_millis(100);
/// Delay after a checkpoint that a long read, such as a backup, has prevented. Writes wait a quarter of the time then.
const RETRY_INTERVAL: Duration = Duration::from_millis(300);
/// Time that the last checkpoint waits for readers.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Decides when a checkpoint is due.
pub(crate) struct LogCheckpoints {
    files: SqliteFiles,
    retry_at: Option<Instant>,
}

impl LogCheckpoints {
    /// `files` are those of the connection that is given to the other functions.
    pub(crate) fn new(files: SqliteFiles) -> Self {
        Self { files, retry_at: None }
    }

    /// Makes a checkpoint if the log is large. To be called after each commit.
    pub(crate) fn run_if_due(&mut self, connection: &mut AnyConnection) {
        if self.files.log_bytes() <= MAX_LOG_BYTES || self.retry_at.is_some_and(|at| Instant::now() < at) {
            return;
        }
        let is_complete = checkpoint(connection, "RESTART", READER_TIMEOUT);
        self.retry_at = (!is_complete).then(|| Instant::now() + RETRY_INTERVAL);
    }

    /// Copies the whole log into the database file and truncates it to 0 bytes. To be called after the last commit.
    pub(crate) fn truncate(&self, connection: &mut AnyConnection) {
        if self.files.log_bytes() > 0 && !checkpoint(connection, "TRUNCATE", CLOSE_TIMEOUT) {
            tracing::info!(
                "a reader keeps the write-ahead log from being truncated; the next start truncates it"
            );
        }
    }
}

/// Makes a checkpoint. Returns false if a reader prevented it. Then the log is copied up to what that reader needs.
pub(crate) fn checkpoint(connection: &mut AnyConnection, mode: &str, timeout: Duration) -> bool {
    let is_complete = set_busy_timeout(connection, timeout).and_then(|()| {
        let pragma = format!("PRAGMA wal_checkpoint({mode})");
        let row = sql::<(Integer, Integer, Integer)>(&pragma);
        let (is_busy, _, _): (i32, i32, i32) = row.get_result(connection)?;
        Ok(is_busy == 0)
    });
    let restored = set_busy_timeout(connection, BUSY_TIMEOUT);
    restored.and(is_complete).unwrap_or_else(|error| {
        tracing::warn!(%error, "a checkpoint of the write-ahead log failed");
        false
    })
}

fn set_busy_timeout(connection: &mut AnyConnection, timeout: Duration) -> QueryResult<()> {
    connection.batch_execute(&format!("PRAGMA busy_timeout={}", timeout.as_millis()))
}
