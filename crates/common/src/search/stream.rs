//! Streams of search results of any size in constant memory. Rows are read in blocks while the client reads the
//! response.
//!
//! No connection is held while a slow client reads. After the client has disconnected, at most one more block is read.

use std::collections::HashMap;

use database::{AnyConnection, Database, Id, Json};
use futures_util::stream::{self, Stream};
use opentelemetry::context::FutureExt;
use tracing::Instrument;

use super::page::{PageRequest, ResultPage};
use super::sort::Cursor;
use crate::Error;

/// Maximum number of ids held in memory. Without an index for the order each batch sorts all matches again, so few
/// large batches are better than many small ones; a million rows are ten batches.
const MAX_BATCH_IDS: i64 = 100_000;
/// Documents that are read at a time. Two such chunks are in memory.
const MAX_CHUNK_DOCUMENTS: u16 = 1_000;

/// Ids of consecutive rows of a search, in its order.
#[derive(Debug, Default)]
pub struct IdBatch {
    /// As many ids as the limit of the page, or all that are left.
    pub ids: Vec<Id>,
    /// The cursor after the last id; `None` if `ids` is empty.
    pub last: Option<Cursor>,
}

/// Streams the documents of a search whose order is covered by an index, from `page` up to its limit. Each page is read
/// from the end of the previous one. One page is read ahead while the previous one is sent.
pub fn stream_pages<R>(
    db: &Database,
    page: PageRequest,
    read: R,
) -> impl Stream<Item = Result<Vec<Json>, Error>> + use<R>
where
    R: Fn(&mut AnyConnection, &PageRequest) -> Result<ResultPage, Error> + Clone + Send + 'static,
{
    let (db, limit) = (db.clone(), page.limit);
    let read = move |page: PageRequest| {
        let (db, read) = (db.clone(), read.clone());
        let reading = async move { db.read_from_standby(move |c| read(c, &page)).await };
        tokio::spawn(reading.with_current_context().in_current_span())
    };
    let chunk =
        |after, offset, left: i64| PageRequest { limit: left.min(MAX_CHUNK_DOCUMENTS.into()), offset, after };
    let first = read(chunk(page.after, page.offset, limit));
    stream::try_unfold(Some((first, limit)), move |reading| {
        let read = read.clone();
        async move {
            let Some((reading, left)) = reading else { return Ok(None) };
            let rows = reading.await.map_err(|e| Error::Internal(e.into()))??;
            let left = left - i64::from(MAX_CHUNK_DOCUMENTS);
            let next = rows.next.filter(|_| left > 0).map(|last| (read(chunk(Some(last), 0, left)), left));
            // Lets the spawned read start.
            tokio::task::yield_now().await;
            let documents: Vec<_> = rows.documents.into_iter().map(Json).collect();
            Ok((!documents.is_empty()).then_some((documents, next)))
        }
    })
}

/// Streams the documents of a search in any order, from `page` up to its limit, at most 1,000 at a time.
///
/// `read_ids` returns the ids of a page. `read_documents` returns the documents of some ids, in any order. Rows that
/// `read_documents` does not return, since they were deleted meanwhile or a standby does not have
/// them yet, are omitted.
pub fn stream_by_ids<B, D>(
    db: &Database,
    page: PageRequest,
    read_ids: B,
    read_documents: D,
) -> impl Stream<Item = Result<Vec<Json>, Error>> + use<B, D>
where
    B: Fn(&mut AnyConnection, &PageRequest) -> Result<IdBatch, Error> + Clone + Send + 'static,
    D: Fn(&mut AnyConnection, &[Id]) -> Result<Vec<(Id, Json)>, Error> + Clone + Send + 'static,
{
    let start = (db.clone(), page, Vec::new().into_iter());
    stream::try_unfold(start, move |(db, mut page, mut ids)| {
        let (read_ids, read_documents) = (read_ids.clone(), read_documents.clone());
        async move {
            loop {
                let chunk: Vec<Id> = ids.by_ref().take(MAX_CHUNK_DOCUMENTS.into()).collect();
                if chunk.is_empty() {
                    if page.limit == 0 {
                        return Ok(None);
                    }
                    let batch_page = PageRequest { limit: page.limit.min(MAX_BATCH_IDS), ..page.clone() };
                    let (batch_limit, read_ids) = (batch_page.limit, read_ids.clone());
                    let batch = db.read_from_standby(move |c| read_ids(c, &batch_page)).await?;
                    let count = i64::try_from(batch.ids.len()).unwrap_or(i64::MAX);
                    if count == 0 {
                        return Ok(None);
                    }
                    let left = if count < batch_limit { 0 } else { page.limit - count };
                    page = PageRequest { limit: left, offset: 0, after: batch.last };
                    ids = batch.ids.into_iter();
                    continue;
                }
                let (order, read_documents) = (chunk.clone(), read_documents.clone());
                let rows = db.read_from_standby(move |c| read_documents(c, &chunk)).await?;
                let mut rows: HashMap<_, _> = rows.into_iter().collect();
                let documents: Vec<_> = order.iter().filter_map(|id| rows.remove(id)).collect();
                if !documents.is_empty() {
                    return Ok(Some((documents, (db, page, ids))));
                }
            }
        }
    })
}
