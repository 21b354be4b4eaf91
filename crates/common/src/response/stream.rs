//! Streamed responses: JSON arrays, CSV files and workbooks of any size in constant memory.
//!
//! The first documents are read before the status is sent, so that an early error gets a complete error response. A
//! later error aborts the connection, so that a client cannot mistake it for the end of the file.

use std::future::ready;
use std::sync::Arc;

use actix_web::body::BoxBody;
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, Responder};
use database::Json;
use futures_util::stream::{self, Stream, StreamExt, TryStreamExt};
use tables::{CsvWriter, RowWriter, XlsxWriter};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::Error;
use crate::response::negotiate::Format;

/// A byte order mark in UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// A 200 response whose body is produced while it is sent.
pub struct StreamingResponse {
    body: BoxBody,
    format: Format,
    /// The name of an attachment, without its extension.
    name: String,
    total: Option<i64>,
}

/// The writer of a body.
enum BodyWriter {
    Json { is_first: bool },
    Csv,
    Xlsx(Box<XlsxWriter>),
}

impl StreamingResponse {
    /// Creates a response of these documents. `name` is the name of an attachment, without its extension.
    ///
    /// # Errors
    /// Returns the first item of `documents` if it is an error, and errors of `layout.write` for the first documents.
    pub async fn new<S, W>(
        format: Format,
        layout: TableLayout<W>,
        name: &str,
        documents: S,
    ) -> Result<Self, Error>
    where
        S: Stream<Item = Result<Vec<Json>, Error>> + 'static,
        W: Fn(&Json, &mut RowWriter) -> Result<(), Error> + Send + Sync + 'static,
    {
        let mut documents = Box::pin(documents);
        let first = documents.try_next().await?.unwrap_or_default();
        let write: Arc<RowFunction> = Arc::new(layout.write);
        let (mut writer, mut start) = BodyWriter::start(format, &layout.columns)?;
        let bytes;
        (writer, bytes) = writer.write(&write, first).await?;
        start.extend(bytes);
        let rest = stream::try_unfold(Some((writer, documents)), move |state| {
            let write = write.clone();
            async move {
                let Some((writer, mut documents)) = state else { return Ok(None) };
                Ok(Some(match documents.try_next().await? {
                    Some(chunk) => {
                        let (writer, bytes) = writer.write(&write, chunk).await?;
                        (bytes, Some((writer, documents)))
                    }
                    None => (writer.finish()?, None),
                }))
            }
        });
        let body = streaming_body(stream::iter([Ok(start)]).chain(rest));
        Ok(Self { body, format, name: name.to_owned(), total: None })
    }

    /// Adds `X-Total-Count`, the number of all matches, if there is a total.
    #[must_use]
    pub fn total(mut self, total: Option<i64>) -> Self {
        self.total = total;
        self
    }
}

impl Responder for StreamingResponse {
    type Body = BoxBody;

    fn respond_to(self, _: &HttpRequest) -> HttpResponse {
        let mut response = self.format.attachment(&self.name);
        if let Some(total) = self.total {
            response.insert_header(("x-total-count", total));
        }
        response.body(self.body)
    }
}

/// Returns a body of these parts. An error is logged and aborts the connection.
pub(crate) fn streaming_body(parts: impl Stream<Item = Result<Vec<u8>, Error>> + 'static) -> BoxBody {
    // The encoder of an archive buffers some rows. An empty chunk would end the body.
    let parts = parts.try_filter(|bytes| ready(!bytes.is_empty()));
    let parts = parts.map_ok(Bytes::from).inspect_err(|error: &Error| {
        tracing::error!(error = format!("{error:?}"), "streamed response aborted");
    });
    // actix-web logs this error again, without the request id.
    let parts = parts.map_err(|_| std::io::Error::other("streamed response aborted"));
    BoxBody::new(actix_web::body::BodyStream::new(parts))
}

/// The columns of an export and the function that writes its rows.
#[derive(Clone, Debug)]
pub struct TableLayout<W = fn(&Json, &mut RowWriter) -> Result<(), Error>> {
    /// The header row.
    pub columns: Vec<&'static str>,
    /// Writes the row of a document: `Fn(&Json, &mut RowWriter) -> Result<(), Error>`.
    pub write: W,
}

/// The schema of a workbook in OpenAPI documents.
#[derive(Debug)]
pub struct Workbook;

impl PartialSchema for Workbook {
    fn schema() -> RefOr<Schema> {
        let binary = SchemaFormat::KnownFormat(KnownFormat::Binary);
        ObjectBuilder::new().schema_type(Type::String).format(Some(binary)).into()
    }
}
impl ToSchema for Workbook {}

type RowFunction = dyn Fn(&Json, &mut RowWriter) -> Result<(), Error> + Send + Sync;

impl BodyWriter {
    /// Returns a writer, and the beginning of the body.
    fn start(format: Format, columns: &[&str]) -> Result<(Self, Vec<u8>), Error> {
        Ok(match format {
            // Maps are not streamed.
            Format::Json | Format::GeoJson => (Self::Json { is_first: true }, b"[".to_vec()),
            Format::Csv | Format::CsvWithBom => {
                let mut header = CsvWriter::default();
                header.row(columns.iter().copied());
                let bom = if format == Format::CsvWithBom { BOM } else { b"" };
                (Self::Csv, [bom, &header.into_bytes()].concat())
            }
            Format::Xlsx => {
                let mut workbook = XlsxWriter::new(columns).map_err(internal)?;
                let start = workbook.take_bytes();
                (Self::Xlsx(Box::new(workbook)), start)
            }
        })
    }

    /// Writes documents. Returns the bytes that the body has more.
    async fn write(self, write: &Arc<RowFunction>, documents: Vec<Json>) -> Result<(Self, Vec<u8>), Error> {
        match self {
            Self::Json { is_first } => {
                let documents: Vec<_> = documents.iter().map(|json| json.0.as_str()).collect();
                let comma = if is_first || documents.is_empty() { "" } else { "," };
                let is_first = is_first && documents.is_empty();
                Ok((Self::Json { is_first }, (comma.to_owned() + &documents.join(",")).into_bytes()))
            }
            Self::Csv => {
                let mut rows = RowWriter::csv();
                documents.iter().try_for_each(|document| write(document, &mut rows))?;
                Ok((Self::Csv, rows.into_csv()))
            }
            Self::Xlsx(mut workbook) => {
                let write = write.clone();
                // Compressing takes much longer than the other formats.
                let work = move || {
                    let mut rows = RowWriter::sheet(workbook.next_rows());
                    documents.iter().try_for_each(|document| write(document, &mut rows))?;
                    workbook.write(rows.into_sheet()).map_err(internal)?;
                    let bytes = workbook.take_bytes();
                    Ok((Self::Xlsx(workbook), bytes))
                };
                tokio::task::spawn_blocking(work).await.map_err(|e| Error::Internal(e.into()))?
            }
        }
    }

    /// Returns the end of the body.
    fn finish(self) -> Result<Vec<u8>, Error> {
        match self {
            Self::Json { .. } => Ok(b"]".to_vec()),
            Self::Csv => Ok(Vec::new()),
            Self::Xlsx(workbook) => workbook.finish().map_err(internal),
        }
    }
}

fn internal(error: std::io::Error) -> Error {
    Error::Internal(error.into())
}
