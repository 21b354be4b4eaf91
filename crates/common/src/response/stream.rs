//! Answers of any size in constant memory: rows are read from the database block by block, while the client takes them.
//!
//! No connection is held while a slow client reads, and nothing but a page is read once it is gone. The first rows are read
//! before the status is sent, so that a failure has its proper body; a later one breaks the connection off, which no
//! client can take for the end of a file.

use std::collections::HashMap;

use actix_web::body::BoxBody;
use actix_web::http::header::ContentType;
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, Responder};
use database::{AnyConnection, Database, Id, Json};
use futures_util::stream::{self, Stream, StreamExt, TryStreamExt};
use opentelemetry::context::FutureExt;
use tracing::Instrument;

use crate::response::csv::CsvWriter;
use crate::{Cursor, Error, Format, PageRequest, ResultPage};

/// So many ids are held at once. Where no index has the order each block sorts all matches anew, so the more the
/// better; a million rows are ten blocks.
const MAX_BATCH_IDS: i64 = 100_000;
/// So many documents are held at once.
const MAX_CHUNK_DOCUMENTS: u16 = 500;

/// The ids of rows of a search, in its order.
#[derive(Debug, Default)]
pub struct IdBatch {
    /// As many as the page's limit, or all there are.
    pub ids: Vec<Id>,
    /// Where the next block begins; nothing if `ids` is empty.
    pub last: Option<Cursor>,
}

/// All documents of a search whose order an index has, from its page on to its limit: read by pages, each from where
/// the last one ended. While one is written and sent the next is being read, and no more.
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
        let reading = async move { db.read(move |c| read(c, &page)).await };
        tokio::spawn(reading.with_current_context().in_current_span())
    };
    let of =
        |after, offset, left: i64| PageRequest { limit: left.min(MAX_CHUNK_DOCUMENTS.into()), offset, after };
    let first = read(of(page.after, page.offset, limit));
    stream::try_unfold(Some((first, limit)), move |reading| {
        let read = read.clone();
        async move {
            let Some((reading, left)) = reading else { return Ok(None) };
            let rows = reading.await.map_err(|e| Error::Internal(e.into()))??;
            let left = left - i64::from(MAX_CHUNK_DOCUMENTS);
            let next = rows.next.filter(|_| left > 0).map(|last| (read(of(Some(last), 0, left)), left));
            // Begins with it.
            tokio::task::yield_now().await;
            let documents: Vec<_> = rows.documents.into_iter().map(Json).collect();
            Ok((!documents.is_empty()).then_some((documents, next)))
        }
    })
}

/// All documents of a search in any order, a few hundred at a time, from its page on to its limit.
///
/// `block` finds the ids of a page; `find` reads the documents of some of them, in any order. What `find` no longer
/// sees is left out.
pub fn stream_by_ids<B, F>(
    db: &Database,
    page: PageRequest,
    block: B,
    find: F,
) -> impl Stream<Item = Result<Vec<Json>, Error>> + use<B, F>
where
    B: Fn(&mut AnyConnection, &PageRequest) -> Result<IdBatch, Error> + Clone + Send + 'static,
    F: Fn(&mut AnyConnection, &[Id]) -> Result<Vec<(Id, Json)>, Error> + Clone + Send + 'static,
{
    let start = (db.clone(), page, Vec::new().into_iter());
    stream::try_unfold(start, move |(db, mut page, mut ids)| {
        let (block, find) = (block.clone(), find.clone());
        async move {
            loop {
                let some: Vec<Id> = ids.by_ref().take(MAX_CHUNK_DOCUMENTS.into()).collect();
                if some.is_empty() {
                    if page.limit == 0 {
                        return Ok(None);
                    }
                    let (wanted, block) =
                        (PageRequest { limit: page.limit.min(MAX_BATCH_IDS), ..page.clone() }, block.clone());
                    let size = wanted.limit;
                    let found = db.read(move |c| block(c, &wanted)).await?;
                    let count = i64::try_from(found.ids.len()).unwrap_or(i64::MAX);
                    let left = if count < size { 0 } else { page.limit - count };
                    page = PageRequest { limit: left, offset: 0, after: found.last };
                    ids = found.ids.into_iter();
                    if count == 0 {
                        return Ok(None);
                    }
                    continue;
                }
                let (order, find) = (some.clone(), find.clone());
                let found = db.read(move |c| find(c, &some)).await?;
                let mut found: HashMap<_, _> = found.into_iter().collect();
                let documents: Vec<_> = order.iter().filter_map(|id| found.remove(id)).collect();
                if !documents.is_empty() {
                    return Ok(Some((documents, (db, page, ids))));
                }
            }
        }
    })
}

/// The columns of a table, and what stands in them.
#[derive(Clone, Copy, Debug)]
pub struct CsvLayout<W = fn(&Json, &mut CsvWriter) -> Result<(), Error>> {
    /// The header row.
    pub columns: &'static [&'static str],
    /// Writes the row of a document: `Fn(&Json, &mut Lines) -> Result<(), Error>`.
    pub write: W,
}

/// A 200 whose body is still to be made.
pub struct StreamingResponse {
    body: BoxBody,
    format: Format,
    headers: Vec<(&'static str, String)>,
}

impl StreamingResponse {
    /// These documents; as a table a file of this name.
    ///
    /// # Errors
    /// What went wrong before the first row.
    pub async fn new<S, W>(
        format: Format,
        table: CsvLayout<W>,
        name: &str,
        documents: S,
    ) -> Result<Self, Error>
    where
        S: Stream<Item = Result<Vec<Json>, Error>> + 'static,
        W: Fn(&Json, &mut CsvWriter) -> Result<(), Error> + 'static,
    {
        let mut documents = Box::pin(documents);
        let first = documents.try_next().await?.unwrap_or_default();
        let mut header = CsvWriter::default();
        header.row(table.columns.iter().copied());
        let (open, close) = match format {
            Format::Json => (b"[".to_vec(), &b"]"[..]),
            Format::Csv => (header.into_bytes(), &b""[..]),
        };
        let first = [open, write(format, &table.write, &first)?].concat();
        let rest = documents.map(move |documents| {
            let mut bytes = write(format, &table.write, &documents?)?;
            if format == Format::Json {
                bytes.insert(0, b',');
            }
            Ok(bytes)
        });
        let all = stream::iter([Ok(first)]).chain(rest).chain(stream::iter([Ok(close.to_vec())]));
        let all = all.map_ok(Bytes::from).inspect_err(|error: &Error| {
            tracing::error!(error = format!("{error:?}"), "a streamed answer was broken off");
        });
        // The server logs this once more, without the request's id.
        let all = all.map_err(|_| std::io::Error::other("a streamed answer was broken off"));
        let attachment = format!("attachment; filename=\"{name}\"");
        let headers = if format == Format::Csv { vec![("content-disposition", attachment)] } else { vec![] };
        Ok(Self { body: BoxBody::new(actix_web::body::BodyStream::new(all)), format, headers })
    }

    /// With the number of all matches, if that was asked.
    #[must_use]
    pub fn total(mut self, total: Option<i64>) -> Self {
        self.headers.extend(total.map(|total| ("x-total-count", total.to_string())));
        self
    }
}

impl Responder for StreamingResponse {
    type Body = BoxBody;

    fn respond_to(self, _: &HttpRequest) -> HttpResponse {
        let mut response = HttpResponse::Ok();
        match self.format {
            Format::Json => response.content_type(ContentType::json()),
            Format::Csv => response.content_type("text/csv; charset=utf-8"),
        };
        for header in self.headers {
            response.insert_header(header);
        }
        response.body(self.body)
    }
}

fn write(
    format: Format,
    write: &impl Fn(&Json, &mut CsvWriter) -> Result<(), Error>,
    documents: &[Json],
) -> Result<Vec<u8>, Error> {
    match format {
        Format::Json => {
            Ok(documents.iter().map(|json| json.0.as_str()).collect::<Vec<_>>().join(",").into_bytes())
        }
        Format::Csv => {
            let mut lines = CsvWriter::default();
            documents.iter().try_for_each(|document| write(document, &mut lines))?;
            Ok(lines.into_bytes())
        }
    }
}
