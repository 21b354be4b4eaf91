//! Multipart forms, read while they arrive, with their fields in any order. Text fields are collected; files are passed
//! on in chunks.

mod disposition;

use std::io;
use std::time::Duration;

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::error::PayloadError;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use actix_web::web::Bytes;
use actix_web::{HttpMessage, HttpRequest};
use futures_util::stream::{self, Stream, StreamExt};
use serde::Serialize;
use serde_json::json;
use sha2::Digest;
use tokio::time::{Instant, timeout_at};

use crate::Error;
use crate::config::Timeouts;
use crate::extract::idempotency::{self, Fingerprint};
use crate::response::validation::{Code, ValidationErrors};

pub use actix_web::web::Payload;
use disposition::Disposition;

/// Maximum size of a text field in bytes, unless a form needs longer ones.
pub const MAX_TEXT_BYTES: usize = 64 << 10;
/// Maximum size of all text fields together in bytes.
const MAX_ALL_TEXT_BYTES: usize = 1 << 20;
/// Maximum number of parts of all kinds.
const MAX_PARTS: usize = 1000;
/// Maximum size in bytes of the boundaries and part headers.
const MAX_FRAMING_BYTES: usize = 8 << 20;

/// The fields that a form may have.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// The names of the text fields. Fields with other names are skipped.
    pub texts: &'a [&'a str],
    /// Maximum size of each text field in bytes.
    pub text_bytes: usize,
    /// Maximum number of `file` parts.
    pub files: usize,
    /// Maximum size of each file in bytes.
    pub file_bytes: usize,
}

/// A complete form.
pub struct Form<F> {
    /// The names and values of the text fields, in their order in the form.
    pub texts: Vec<(String, String)>,
    /// The results for the `file` parts, in their order in the form.
    pub files: Vec<F>,
    /// Errors in the request headers, to which the caller adds those of the fields.
    pub errors: ValidationErrors,
}

/// A `file` part that is being received.
pub struct FilePart<'a> {
    /// The file name of the part.
    pub name: Option<String>,
    /// The media type of the part.
    pub declared: Option<String>,
    /// The text fields that the form had before the file.
    pub texts: &'a [(String, String)],
    field: &'a mut Field,
    budget: ByteBudget,
}

impl FilePart<'_> {
    /// Returns the next chunk of the content, or `None` at its end.
    ///
    /// # Errors
    /// 400 if the form is truncated or late, 413 if the file exceeds the limit.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let chunk = next(self.field).await?;
        self.budget.take(chunk.as_ref().map_or(0, Bytes::len))?;
        Ok(chunk)
    }
}

/// A limit in bytes, and how many of them are left.
struct ByteBudget {
    limit: usize,
    left: usize,
}

impl ByteBudget {
    fn new(limit: usize) -> Self {
        Self { limit, left: limit }
    }

    /// Takes bytes from the budget.
    ///
    /// # Errors
    /// 413 with the whole limit if fewer bytes are left.
    fn take(&mut self, bytes: usize) -> Result<(), Error> {
        self.left = self.left.checked_sub(bytes).ok_or(Error::PayloadTooLarge(self.limit))?;
        Ok(())
    }
}

/// Reads a form. `receive_file` reads each `file` part. Reading ends as soon as a limit is exceeded.
///
/// # Errors
/// 400 for a body that is not a complete form or has too many files, 413, 415, and the errors of `receive_file`.
pub async fn receive<F>(
    request: &HttpRequest,
    payload: Payload,
    limits: Limits<'_>,
    receive_file: impl AsyncFnMut(FilePart<'_>) -> Result<F, Error>,
) -> Result<Form<F>, Error> {
    let is_encoded =
        request.headers().get(header::CONTENT_ENCODING).is_some_and(|coding| coding != "identity");
    if is_encoded || !request.content_type().eq_ignore_ascii_case("multipart/form-data") {
        return Err(Error::UnsupportedMediaType("multipart/form-data, not compressed"));
    }
    // Room for skipped fields, which together may be as large as one file.
    let files_bytes = limits.file_bytes.saturating_mul(limits.files.saturating_add(1));
    let max_bytes = files_bytes.saturating_add(MAX_ALL_TEXT_BYTES + MAX_FRAMING_BYTES);
    let body = paced_body(payload, Timeouts::of(request).stalled, max_bytes);
    let mut multipart = Multipart::new(&lenient_headers(request)?, body);
    let form = tokio::time::timeout(FORM_TIMEOUT, receive_parts(&mut multipart, limits, receive_file)).await;
    let mut form = form.map_err(|_| Error::malformed_body("it was not sent in time"))??;
    form.errors = idempotency::key_errors(request);
    Ok(form)
}

async fn receive_parts<F>(
    multipart: &mut Multipart,
    limits: Limits<'_>,
    mut receive_file: impl AsyncFnMut(FilePart<'_>) -> Result<F, Error>,
) -> Result<Form<F>, Error> {
    let mut form = Form { texts: Vec::new(), files: Vec::new(), errors: ValidationErrors::default() };
    let mut all_text = ByteBudget::new(MAX_ALL_TEXT_BYTES);
    let mut skipped = ByteBudget::new(limits.file_bytes);
    for _ in 0..=MAX_PARTS {
        let Some(mut field) = next(multipart).await? else { return Ok(form) };
        let Disposition { name, file_name } = disposition(&field)?;
        if name == "file" {
            if form.files.len() == limits.files {
                let message = format!("must be given at most {} times", limits.files);
                return Err(too_many("file", message, limits.files));
            }
            let declared = field.content_type().map(ToString::to_string);
            let budget = ByteBudget::new(limits.file_bytes);
            let part = FilePart { name: file_name, declared, texts: &form.texts, field: &mut field, budget };
            let file = receive_file(part).await?;
            form.files.push(file);
        } else if limits.texts.contains(&&*name) {
            let text = receive_text(&mut field, ByteBudget::new(limits.text_bytes), &mut all_text).await?;
            form.texts.push((name, text));
        } else {
            skip(&mut field, &mut skipped).await?;
        }
    }
    Err(too_many("", format!("must have at most {MAX_PARTS} parts"), MAX_PARTS))
}

impl<F> Form<F> {
    /// Returns the fingerprint of the form: of its fields and contents, but not of boundaries and the other bytes
    /// between them. `identity` returns the part of a file's result that repeats have in common.
    ///
    /// # Errors
    /// 500 if a value of `identity` cannot be serialized.
    pub fn fingerprint<'a, P: Serialize>(
        &'a self,
        request: &HttpRequest,
        identity: impl Fn(&'a F) -> P,
    ) -> Result<Fingerprint, Error> {
        let Some(hash) = Fingerprint::start(request) else { return Ok(Fingerprint::default()) };
        let files: Vec<_> = self.files.iter().map(identity).collect();
        Ok(Fingerprint::finish(hash.chain_update(serde_json::to_vec(&(&self.texts, files))?)))
    }

    /// Returns the value of the last text field with this name.
    pub fn last(&self, name: &str) -> Option<&str> {
        self.texts.iter().rfind(|(field, _)| field == name).map(|(_, text)| text.as_str())
    }
}

/// Returns the headers for [`Multipart`], with another type of multipart content. Of `form-data` it would parse the
/// names of parts itself, and refuse those that are not UTF-8.
fn lenient_headers(request: &HttpRequest) -> Result<HeaderMap, Error> {
    let incomplete = || Error::malformed_body("it has no boundary");
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let (_, parameters) = content_type.and_then(|value| value.split_once(';')).ok_or_else(incomplete)?;
    let mixed = HeaderValue::try_from(format!("multipart/mixed;{parameters}")).map_err(|_| incomplete())?;
    Ok(HeaderMap::from_iter([(header::CONTENT_TYPE, mixed)]))
}

fn disposition(field: &Field) -> Result<Disposition, Error> {
    let header = field.headers().get(header::CONTENT_DISPOSITION);
    header.and_then(|header| Disposition::parse(header.as_bytes())).ok_or_else(|| {
        Error::malformed_body("a part has no header Content-Disposition of the type form-data with a name")
    })
}

/// Reads a text field. `all_text` is the budget of all text fields together.
async fn receive_text(
    field: &mut Field,
    mut budget: ByteBudget,
    all_text: &mut ByteBudget,
) -> Result<String, Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = next(field).await? {
        budget.take(chunk.len())?;
        all_text.take(chunk.len())?;
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes).map_err(|_| Error::malformed_body("a field is not UTF-8"))
}

/// Discards a part.
async fn skip(field: &mut Field, skipped: &mut ByteBudget) -> Result<(), Error> {
    while let Some(chunk) = next(field).await? {
        skipped.take(chunk.len())?;
    }
    Ok(())
}

/// Returns the next item of a multipart stream. Restores the error of [`paced_body`], which comes wrapped.
async fn next<T>(
    stream: &mut (impl Stream<Item = Result<T, MultipartError>> + Unpin),
) -> Result<Option<T>, Error> {
    stream.next().await.transpose().map_err(|error| {
        let message = format!("it is not a complete multipart form ({error})");
        let wrapped = match error {
            MultipartError::Payload(PayloadError::Io(io)) => io.downcast::<Error>().ok(),
            _ => None,
        };
        wrapped.unwrap_or(Error::malformed_body(message))
    })
}

fn too_many(path: &str, message: String, limit: usize) -> Error {
    ValidationErrors::one_with(path, Code::Length, message, json!({ "maximum": limit })).into()
}

/// Timeout of a whole form. Ten photographs take less on any line.
const FORM_TIMEOUT: Duration = Duration::from_secs(3600);
/// Minimum number of bytes that a client must send in each period of `server.stalled_seconds`. The slowest lines are
/// faster.
const MIN_BYTES_PER_PERIOD: usize = 16 << 10;
/// If the end of a period is noticed later than this, the service itself was busy, for example with its disk. Then the
/// period does not count.
const MAX_TIMER_DELAY: Duration = Duration::from_secs(1);

/// The state of the stream.
struct Body {
    payload: Payload,
    period_end: Instant,
    received_in_period: usize,
    bytes_left: usize,
}

/// Returns the body as a stream that fails when the client stalls for a `period` or sends more than `max_bytes`. Its
/// errors contain an [`Error`].
fn paced_body(
    payload: Payload,
    period: Duration,
    max_bytes: usize,
) -> impl Stream<Item = Result<Bytes, PayloadError>> {
    let start =
        Body { payload, period_end: Instant::now() + period, received_in_period: 0, bytes_left: max_bytes };
    stream::try_unfold(start, move |mut body| async move {
        loop {
            match timeout_at(body.period_end, body.payload.next()).await {
                Ok(None) => return Ok(None),
                Ok(Some(chunk)) => {
                    let chunk = chunk?;
                    let left = body.bytes_left.checked_sub(chunk.len());
                    body.bytes_left = left.ok_or_else(|| wrap(Error::PayloadTooLarge(max_bytes)))?;
                    body.received_in_period += chunk.len();
                    return Ok(Some((chunk, body)));
                }
                Err(_) if is_stalled(&body) => {
                    return Err(wrap(Error::malformed_body("it stopped arriving")));
                }
                Err(_) => {
                    body.period_end = Instant::now() + period;
                    body.received_in_period = 0;
                }
            }
        }
    })
}

fn is_stalled(body: &Body) -> bool {
    body.received_in_period < MIN_BYTES_PER_PERIOD && body.period_end.elapsed() < MAX_TIMER_DELAY
}

/// Wraps an error for the layers that parse the form.
fn wrap(error: Error) -> PayloadError {
    PayloadError::Io(io::Error::other(error))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use actix_web::FromRequest;
    use actix_web::test::TestRequest;
    use futures_util::TryStreamExt;

    use super::*;

    #[test]
    fn error_for_a_long_form_has_the_limit() {
        testkit::block_on(async {
            let (request, mut payload) = TestRequest::default().set_payload("abcd").to_http_parts();
            let payload = Payload::from_request(&request, &mut payload).await.unwrap();
            let body = paced_body(payload, Duration::from_secs(60), 3).map_err(MultipartError::Payload);
            let Err(error) = next(&mut Box::pin(body)).await else { panic!("the form was accepted") };
            assert!(matches!(error, Error::PayloadTooLarge(3)), "{error:?}");
        });
    }

    /// Receives a form with these fields and no files. The only text field is `text`; other fields are skipped.
    async fn receive_fields(fields: &[(&str, usize)], file_bytes: usize) -> Result<Form<()>, Error> {
        let parts = fields.iter().map(|(name, bytes)| {
            let text = "x".repeat(*bytes);
            format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
        });
        let body = parts.collect::<String>() + "--b--\r\n";
        let request = TestRequest::post().insert_header(("content-type", "multipart/form-data; boundary=b"));
        let (request, mut payload) = request.set_payload(body).to_http_parts();
        let payload = Payload::from_request(&request, &mut payload).await.unwrap();
        let limits = Limits { texts: &["text"], text_bytes: MAX_TEXT_BYTES, files: 1, file_bytes };
        receive(&request, payload, limits, async |_| Ok(())).await
    }

    #[test]
    fn error_for_long_fields_has_the_whole_limit() {
        testkit::block_on(async {
            let limit = async |fields: &[(&str, usize)]| match receive_fields(fields, 100).await {
                Ok(_) => None,
                Err(Error::PayloadTooLarge(limit)) => Some(limit),
                Err(error) => panic!("{error:?}"),
            };
            let texts = [("text", MAX_TEXT_BYTES); MAX_ALL_TEXT_BYTES / MAX_TEXT_BYTES];
            assert_eq!(limit(&texts).await, None);
            assert_eq!(limit(&[("text", MAX_TEXT_BYTES + 1)]).await, Some(MAX_TEXT_BYTES));
            assert_eq!(limit(&[&texts[..], &[("text", 1)]].concat()).await, Some(MAX_ALL_TEXT_BYTES));
            assert_eq!(limit(&[("other", 70), ("text", 5), ("more", 30)]).await, None);
            assert_eq!(limit(&[("other", 70), ("text", 5), ("more", 31)]).await, Some(100));
        });
    }
}
