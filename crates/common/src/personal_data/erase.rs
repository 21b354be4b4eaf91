//! The erasure, in transactions of limited size: a user may have 100,000 loads, and others write meanwhile.

use std::time::{Duration, Instant};

use database::{AnyConnection, Database};

use super::model::{ErasureResult, RecordKind, RecordQuery};
use super::store;
use crate::Error;

/// How long a request changes records. Shorter than the timeouts of proxies.
const ERASE_TIMEOUT: Duration = Duration::from_secs(20);

/// Erases a user until all records are changed or [`ERASE_TIMEOUT`] has passed. If it ends before, also because the
/// client has gone or the process ends, the next request continues with the same id.
pub(super) async fn run(
    db: &Database,
    kinds: &[RecordKind],
    user_id: String,
) -> Result<ErasureResult, Error> {
    let started = Instant::now();
    if !is_known(db, kinds, &user_id).await? {
        tracing::info!(count = 0, is_complete = true, "personal data of a user was erased");
        return Ok(ErasureResult::new(0, true));
    }
    let user = user_id.clone();
    let erasure = db.write(move |c| store::begin(c, &user)).await?;
    let (mut count, mut is_complete) = (0, true);
    'kinds: for kind in kinds {
        loop {
            if started.elapsed() >= ERASE_TIMEOUT {
                is_complete = false;
                break 'kinds;
            }
            let (erase, erasure) = (kind.erase, erasure.clone());
            let erase = move |c: &mut _| database::with_secure_delete(c, |c| erase(c, &erasure));
            match db.write(erase).await? {
                0 => break,
                _ if kind.are_copies() => {}
                erased => count += erased,
            }
        }
    }
    if is_complete {
        db.write(move |c| store::finish(c, &user_id)).await?;
    }
    if !db.truncate_log().await? {
        tracing::info!(
            "a reader prevents that the write-ahead log is truncated, which has erased data until then"
        );
    }
    tracing::info!(count, is_complete, "personal data of a user was erased");
    Ok(ErasureResult::new(count, is_complete))
}

/// Returns true if there are records of the user, or an erasure that is not finished.
async fn is_known(db: &Database, kinds: &[RecordKind], user_id: &str) -> Result<bool, Error> {
    let (kinds, query) = (kinds.to_vec(), RecordQuery { user_id: user_id.to_owned(), after: None, limit: 1 });
    let read = move |c: &mut AnyConnection| {
        for kind in &kinds {
            if !(kind.list)(c, &query)?.is_empty() {
                return Ok(true);
            }
        }
        store::is_begun(c, &query.user_id)
    };
    db.read(read).await
}
