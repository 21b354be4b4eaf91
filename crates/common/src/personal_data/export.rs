//! The export: a JSON object with an array for each kind of records, in constant memory.

use actix_web::body::BoxBody;
use database::Database;
use futures_util::stream::{self, StreamExt};

use super::model::{Record, RecordKind, RecordQuery};
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
    let records = position.db.read_lagging(move |c| (kind.list)(c, &query)).await?;
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
