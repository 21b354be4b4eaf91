//! Transactions of PostgreSQL, retried after serialization failures.

use std::time::{Duration, Instant};

use diesel::connection::{AnsiTransactionManager, TransactionManager};
use diesel::result::Error as DieselError;

use super::call::Call;
use crate::connection::AnyTransactionManager;
use crate::metrics::DatabaseMetrics;
use crate::{AnyConnection, Cause, DatabaseFailure, Error};

/// Shortest delay before a retry, in microseconds.
const MIN_BACKOFF_US: u64 = 500;
/// Longest delay before the first retry, in microseconds. It doubles with each retry, up to [`MAX_BACKOFF_US`].
const INITIAL_BACKOFF_US: u64 = 1_000;
/// Longest delay before a later retry, in microseconds.
const MAX_BACKOFF_US: u64 = 50_000;

/// Runs a transaction. If a concurrent transaction changed a row that this one changes too, runs it again on the new
/// state, until `retry_timeout` has passed.
pub(crate) fn run_with_retries<T, E: DatabaseFailure>(
    retry_timeout: Duration,
    metrics: &DatabaseMetrics,
    mut transaction: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let started = Instant::now();
    let mut max_backoff = INITIAL_BACKOFF_US;
    loop {
        match transaction() {
            Err(e) if e.database().is_some_and(Error::is_conflict) => {
                if started.elapsed() > retry_timeout {
                    metrics.conflict.increment(1);
                    let reason = "concurrent transactions keep changing the same rows";
                    return Err(Error::unavailable(reason).into());
                }
                metrics.retries.increment(1);
                // A random delay, so that transactions that conflicted do not meet again.
                std::thread::sleep(Duration::from_micros(rand::random_range(MIN_BACKOFF_US..=max_backoff)));
                max_backoff = (max_backoff * 2).min(MAX_BACKOFF_US);
            }
            result => return result,
        }
    }
}

/// Runs `f` in a transaction that the statement `begin` starts.
pub(crate) fn run<T, E: DatabaseFailure>(
    connection: &mut AnyConnection,
    begin: &str,
    call: &Call,
    f: &mut impl FnMut(&mut AnyConnection) -> Result<T, E>,
) -> Result<T, E> {
    start(connection, begin)?;
    let result = f(connection)
        .and_then(|value| if call.start_commit() { Ok(value) } else { Err(Error::abandoned().into()) });
    match result {
        Ok(value) => {
            let committed = AnyTransactionManager::commit_transaction(connection).map_err(commit_error);
            call.end_commit(committed.as_ref().is_err_and(Error::is_conflict));
            committed?;
            Ok(value)
        }
        Err(error) => {
            // If the rollback fails too, the connection is broken and the pool discards it.
            let _ = AnyTransactionManager::rollback_transaction(connection);
            Err(error)
        }
    }
}

/// Runs `f`, which only reads, in a transaction that the statement `begin` starts.
pub(crate) fn run_read<T, E: DatabaseFailure>(
    connection: &mut AnyConnection,
    begin: &str,
    f: &mut impl FnMut(&mut AnyConnection) -> Result<T, E>,
) -> Result<T, E> {
    start(connection, begin)?;
    let result = f(connection);
    // The result is known. If the transaction cannot be ended, the connection is broken and the pool discards it.
    let _ = match &result {
        Ok(_) => AnyTransactionManager::commit_transaction(connection),
        Err(_) => AnyTransactionManager::rollback_transaction(connection),
    };
    result
}

/// Executes a statement that begins a transaction of PostgreSQL.
fn start(connection: &mut AnyConnection, begin: &str) -> Result<(), Error> {
    let AnyConnection::Postgres(c) = connection else { return Ok(()) };
    AnsiTransactionManager::begin_transaction_sql(c, begin).inspect_err(|_| {
        // BEGIN may have succeeded without the settings behind it. The pool discards the connection.
        AnsiTransactionManager::transaction_manager_status_mut(c).set_in_error();
    })?;
    Ok(())
}

/// Runs `f`, which executes one statement, without BEGIN and COMMIT: two round trips less. The commit begins when the
/// statement is sent.
pub(crate) fn run_statement<T, E: DatabaseFailure>(
    connection: &mut AnyConnection,
    call: &Call,
    f: &mut impl FnMut(&mut AnyConnection) -> Result<T, E>,
) -> Result<T, E> {
    if !call.start_commit() {
        return Err(Error::abandoned().into());
    }
    let result = f(connection);
    let failure = result.as_ref().err().and_then(DatabaseFailure::database);
    call.end_commit(failure.is_some_and(|e| e.is_conflict() || e.is_read_only()));
    match failure {
        Some(Error::Unavailable(Cause::Other, reason)) => Err(Error::CommitUnknown(reason.clone()).into()),
        _ => result,
    }
}

/// Converts an error of COMMIT. A failure of the connection leaves the outcome unknown, so the transaction must not be
/// retried.
fn commit_error(error: DieselError) -> Error {
    match error {
        DieselError::RollbackErrorOnCommit { .. } => Error::CommitUnknown(error.to_string()),
        error => match Error::from(error) {
            Error::Unavailable(_, reason) => Error::CommitUnknown(reason),
            other => other,
        },
    }
}
