//! Streamed responses: JSON arrays and CSV files of any size in constant memory.
//!
//! The first documents are read before the status is sent, so that an early error gets a complete error response. A
//! later error aborts the connection, so that a client cannot mistake it for the end of the file.

use actix_web::body::BoxBody;
use actix_web::http::header::ContentType;
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, Responder};
use database::Json;
use futures_util::stream::{self, Stream, StreamExt, TryStreamExt};

use crate::Error;
use crate::response::csv::CsvWriter;
use crate::response::negotiate::Format;

/// The columns of a CSV file and the function that writes its rows.
#[derive(Clone, Copy, Debug)]
pub struct CsvLayout<W = fn(&Json, &mut CsvWriter) -> Result<(), Error>> {
    /// The header row.
    pub columns: &'static [&'static str],
    /// Writes the row of a document: `Fn(&Json, &mut CsvWriter) -> Result<(), Error>`.
    pub write: W,
}

/// A 200 response whose body is produced while it is sent.
pub struct StreamingResponse {
    body: BoxBody,
    format: Format,
    headers: Vec<(&'static str, String)>,
}

impl StreamingResponse {
    /// Creates a response of these documents. `name` is the file name of a CSV attachment.
    ///
    /// # Errors
    /// Returns the first item of `documents` if it is an error, and errors of `layout.write` for the first documents.
    pub async fn new<S, W>(
        format: Format,
        layout: CsvLayout<W>,
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
        header.row(layout.columns.iter().copied());
        let (open, close) = match format {
            Format::Json => (b"[".to_vec(), &b"]"[..]),
            Format::Csv => (header.into_bytes(), &b""[..]),
        };
        let first = [open, write(format, &layout.write, &first)?].concat();
        let rest = documents.map(move |documents| {
            let mut bytes = write(format, &layout.write, &documents?)?;
            if format == Format::Json {
                bytes.insert(0, b',');
            }
            Ok(bytes)
        });
        let all = stream::iter([Ok(first)]).chain(rest).chain(stream::iter([Ok(close.to_vec())]));
        let all = all.map_ok(Bytes::from).inspect_err(|error: &Error| {
            tracing::error!(error = format!("{error:?}"), "streamed response aborted");
        });
        // actix-web logs this error again, without the request id.
        let all = all.map_err(|_| std::io::Error::other("streamed response aborted"));
        let attachment = format!("attachment; filename=\"{name}\"");
        let headers = if format == Format::Csv { vec![("content-disposition", attachment)] } else { vec![] };
        Ok(Self { body: BoxBody::new(actix_web::body::BodyStream::new(all)), format, headers })
    }

    /// Adds `X-Total-Count`, the number of all matches, if there is a total.
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
            let mut writer = CsvWriter::default();
            documents.iter().try_for_each(|document| write(document, &mut writer))?;
            Ok(writer.into_bytes())
        }
    }
}
