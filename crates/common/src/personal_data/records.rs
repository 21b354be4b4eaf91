//! Export and erasure of records. The export is a JSON object with an array for each kind of records, in constant
//! memory.

use std::time::{Duration, Instant};

use actix_web::body::BoxBody;
use database::{AnyConnection, Database};
use futures_util::stream::{self, StreamExt};

use super::model::{ErasureResult, Record, RecordKind, RecordQuery};
use super::store;
use crate::Error;
use crate::response::stream::streaming_body;

/// Records that are read at a time.
const PAGE_SIZE: i64 = 200;

/// Where an export continues.
struct Position {
    db: Database,
    kinds: Vec<RecordKind>,
    /// The index of the kind whose records come next.
    kind: usize,
    /// `after` is `None` before the first record of the kind.
    query: RecordQuery,
}

/// Returns the body of the export of a user. The first records are read before it is returned, so that an early error
/// gets a complete error response.
pub(super) async fn body(db: Database, kinds: Vec<RecordKind>, query: RecordQuery) -> Result<BoxBody, Error> {
    let query = RecordQuery { limit: PAGE_SIZE, ..query };
    let start = Position { db, kinds, kind: 0, query };
    let Some((first, position)) = next_chunk(start).await? else { return Ok(BoxBody::new("{}")) };
    let rest = stream::try_unfold(position, next_chunk);
    Ok(streaming_body(stream::iter([Ok(first)]).chain(rest)))
}

/// Reads the next records. Returns their part of the body, and where the export continues.
async fn next_chunk(mut position: Position) -> Result<Option<(Vec<u8>, Position)>, Error> {
    let Some(kind) = position.kinds.get(position.kind).copied() else { return Ok(None) };
    let query = position.query.clone();
    let records = position.db.read_from_standby(move |c| (kind.list)(c, &query)).await?;
    let is_first_page = position.query.after.is_none();
    let mut chunk = String::new();
    if is_first_page {
        chunk.push(if position.kind == 0 { '{' } else { ',' });
        chunk.extend(["\"", kind.name, "\":["]);
    }
    let mut is_first = is_first_page;
    for Record { document, .. } in &records {
        if !is_first {
            chunk.push(',');
        }
        is_first = false;
        chunk.push_str(&document.0);
    }
    let is_full = i64::try_from(records.len()).is_ok_and(|count| count >= PAGE_SIZE);
    position.query.after = records.into_iter().next_back().map(|last| last.key).filter(|_| is_full);
    if !is_full {
        chunk.push(']');
        position.kind += 1;
        if position.kind == position.kinds.len() {
            chunk.push('}');
        }
    }
    Ok(Some((chunk.into_bytes(), position)))
}

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
        log_erasure(0, true);
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
            "a reader keeps the write-ahead log from being truncated, which has erased data until then"
        );
    }
    log_erasure(count, is_complete);
    Ok(ErasureResult::new(count, is_complete))
}

fn log_erasure(count: usize, is_complete: bool) {
    crate::security_event!("personal_data_erased", count, is_complete, "personal data of a user was erased");
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
