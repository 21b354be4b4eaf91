//! Multipart forms, read as they come, whatever the order of their fields: texts are kept, files are handed over in
//! chunks.

use std::io;
use std::time::Duration;

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::error::PayloadError;
use actix_web::http::header;
use actix_web::web::Bytes;
use actix_web::{HttpMessage, HttpRequest};
use futures_util::stream::{self, Stream, StreamExt};
use serde::Serialize;
use serde_json::json;
use sha2::Digest;
use tokio::time::{Instant, timeout_at};

pub use actix_web::web::Payload;

use crate::response::validation::{Code, ValidationErrors};
use crate::service::connection::Timeouts;
use crate::{Error, Fingerprint, idempotency};

/// The most bytes of a text field, and of all of them together.
const MAX_TEXT_BYTES: usize = 64 << 10;
const MAX_TEXTS_BYTES: usize = 1 << 20;
/// The most parts of any kind.
const MAX_PARTS: usize = 1000;
/// The most bytes of what stands between and around the parts.
const MAX_FRAMING_BYTES: usize = 8 << 20;
/// A client that sends less than this while it is waited for (`server.stalled_seconds`) is given up: the slowest line
/// takes more.
const MIN_BYTES_PER_TIMEOUT: usize = 16 << 10;
/// Where this is seen so much too late, the time went by elsewhere.
const MAX_TIMER_DELAY: Duration = Duration::from_secs(1);
/// And one that has not finished after so long: ten photographs take less on any line.
const MAX_FORM_TIME: Duration = Duration::from_secs(3600);

/// What a form may have.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// The names of its text fields; fields of other names are read over.
    pub texts: &'a [&'a str],
    /// The most `file` parts.
    pub files: usize,
    /// The most bytes of each.
    pub file_bytes: usize,
}

/// A form that came in whole.
pub struct Form<F> {
    /// Text fields, in their order.
    pub texts: Vec<(String, String)>,
    /// What became of the `file` parts, in their order.
    pub files: Vec<F>,
    /// What is wrong with the request's headers, to be told beside what is wrong with the form.
    pub errors: ValidationErrors,
}

/// A `file` part that is coming in.
pub struct FilePart<'a> {
    /// The file name it came with.
    pub name: Option<String>,
    /// The media type it came with.
    pub declared: Option<String>,
    field: &'a mut Field,
    size: usize,
    limit: usize,
}

impl FilePart<'_> {
    /// The next chunk of the content; nothing at its end.
    ///
    /// # Errors
    /// 400 when it is cut off, 413.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let chunk = next(self.field).await?;
        self.size += chunk.as_ref().map_or(0, Bytes::len);
        if self.size > self.limit { Err(Error::PayloadTooLarge(self.limit)) } else { Ok(chunk) }
    }
}

/// Reads the whole form; `keep` reads each `file` part. What a limit forbids is cut off there and then.
///
/// # Errors
/// 400 for a body that is no whole form or has too many files, 413, 415, and what `keep` returns.
pub async fn receive<F>(
    request: &HttpRequest,
    payload: Payload,
    limits: Limits<'_>,
    keep: impl AsyncFnMut(FilePart<'_>) -> Result<F, Error>,
) -> Result<Form<F>, Error> {
    let encoded = request.headers().get(header::CONTENT_ENCODING).is_some_and(|v| v != "identity");
    if encoded || !request.content_type().eq_ignore_ascii_case("multipart/form-data") {
        return Err(Error::UnsupportedMediaType("multipart/form-data, not compressed"));
    }
    let files = limits.file_bytes.saturating_mul(limits.files.saturating_add(1));
    let most = files.saturating_add(MAX_TEXTS_BYTES + MAX_FRAMING_BYTES);
    let body = paced(payload, Timeouts::of(request).stalled, most);
    let mut multipart = Multipart::new(request.headers(), body);
    let late = |_| Error::MalformedBody("it took too long".into());
    let mut form =
        tokio::time::timeout(MAX_FORM_TIME, parts(&mut multipart, limits, keep)).await.map_err(late)??;
    form.errors = idempotency::errors(request);
    Ok(form)
}

async fn parts<F>(
    multipart: &mut Multipart,
    limits: Limits<'_>,
    mut keep: impl AsyncFnMut(FilePart<'_>) -> Result<F, Error>,
) -> Result<Form<F>, Error> {
    let mut form = Form { texts: Vec::new(), files: Vec::new(), errors: ValidationErrors::default() };
    let (mut texts_left, mut ignored_left) = (MAX_TEXTS_BYTES, limits.file_bytes);
    for _ in 0..=MAX_PARTS {
        let Some(mut field) = next(multipart).await? else { return Ok(form) };
        let name = field.name().unwrap_or_default().to_owned();
        if name == "file" {
            if form.files.len() == limits.files {
                let message = format!("must be given at most {} times", limits.files);
                return Err(too_many("file", message, limits.files));
            }
            let (name, declared) = (file_name(&field), field.content_type().map(ToString::to_string));
            let part = FilePart { name, declared, field: &mut field, size: 0, limit: limits.file_bytes };
            form.files.push(keep(part).await?);
        } else if limits.texts.contains(&&*name) {
            let text = receive_text(&mut field, MAX_TEXT_BYTES.min(texts_left)).await?;
            texts_left -= text.len();
            form.texts.push((name, text));
        } else {
            ignored_left -= skip(&mut field, ignored_left).await?;
        }
    }
    Err(too_many("", format!("must have at most {MAX_PARTS} parts"), MAX_PARTS))
}

impl<F> Form<F> {
    /// What a repeat of the upload must equal: fields and contents, however they were wrapped. `fingerprint` tells a file
    /// from others.
    pub fn fingerprint<'a, P: Serialize>(
        &'a self,
        request: &HttpRequest,
        fingerprint: impl Fn(&'a F) -> P,
    ) -> Result<Fingerprint, Error> {
        let Some(hash) = Fingerprint::start(request) else { return Ok(Fingerprint::default()) };
        let files: Vec<_> = self.files.iter().map(fingerprint).collect();
        Ok(Fingerprint::finish(hash.chain_update(serde_json::to_vec(&(&self.texts, files))?)))
    }

    /// Of several fields of a name the last counts.
    pub fn last(&self, name: &str) -> Option<&str> {
        self.texts.iter().rfind(|(field, _)| field == name).map(|(_, text)| text.as_str())
    }
}

/// `filename`, or `filename*`, which RFC 7578 forbids and some clients send.
fn file_name(field: &Field) -> Option<String> {
    let disposition = field.content_disposition()?;
    let extended = || String::from_utf8(disposition.get_filename_ext()?.value.clone()).ok();
    disposition.get_filename().map(str::to_owned).or_else(extended)
}

async fn receive_text(field: &mut Field, limit: usize) -> Result<String, Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = next(field).await? {
        if bytes.len() + chunk.len() > limit {
            return Err(Error::PayloadTooLarge(limit));
        }
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes).map_err(|_| Error::MalformedBody("a field is not UTF-8".into()))
}

/// Reads over a part that means nothing here, and tells its size.
async fn skip(field: &mut Field, limit: usize) -> Result<usize, Error> {
    let mut size = 0;
    while let Some(chunk) = next(field).await? {
        size += chunk.len();
        if size > limit {
            return Err(Error::PayloadTooLarge(limit));
        }
    }
    Ok(size)
}

/// A body that keeps coming, and ends.
fn paced(
    payload: Payload,
    patience: Duration,
    most: usize,
) -> impl Stream<Item = Result<Bytes, PayloadError>> {
    let begin = (payload, Instant::now() + patience, 0, most);
    stream::try_unfold(begin, move |(mut payload, mut end, mut came, left)| async move {
        loop {
            match timeout_at(end, payload.next()).await {
                Ok(None) => return Ok(None),
                Ok(Some(chunk)) => {
                    let chunk = chunk?;
                    let left = left.checked_sub(chunk.len());
                    let left = left.ok_or_else(|| broken_off(Error::PayloadTooLarge(most)))?;
                    came += chunk.len();
                    return Ok(Some((chunk, (payload, end, came, left))));
                }
                // Later it was our own disk that was waited for, and the client begins anew.
                Err(_) if came < MIN_BYTES_PER_TIMEOUT && end.elapsed() < MAX_TIMER_DELAY => {
                    return Err(broken_off(Error::MalformedBody("it stopped coming".into())));
                }
                Err(_) => (end, came) = (Instant::now() + patience, 0),
            }
        }
    })
}

/// Our own reason, through the layers that read the form.
fn broken_off(error: Error) -> PayloadError {
    PayloadError::Io(io::Error::other(error))
}

async fn next<T>(
    stream: &mut (impl Stream<Item = Result<T, MultipartError>> + Unpin),
) -> Result<Option<T>, Error> {
    stream.next().await.transpose().map_err(|error| {
        let told = format!("it is no whole multipart form ({error})");
        let own = match error {
            MultipartError::Payload(PayloadError::Io(io)) => io.downcast::<Error>().ok(),
            _ => None,
        };
        own.unwrap_or(Error::MalformedBody(told))
    })
}

fn too_many(path: &str, message: String, limit: usize) -> Error {
    let mut errors = ValidationErrors::default();
    errors.push_with(path, Code::Length, message, json!({ "maximum": limit }));
    Error::Validation(errors)
}

#[cfg(test)]
mod tests {
    use actix_web::FromRequest;
    use actix_web::test::TestRequest;
    use futures_util::TryStreamExt;

    use super::*;

    #[test]
    fn a_form_that_is_too_long_is_told_how_long_it_may_be() {
        testkit::block_on(async {
            let (request, mut payload) = TestRequest::default().set_payload("abcd").to_http_parts();
            let payload = Payload::from_request(&request, &mut payload).await.unwrap();
            let body = paced(payload, Duration::from_secs(60), 3).map_err(MultipartError::Payload);
            let Err(error) = next(&mut Box::pin(body)).await else { panic!("it is read") };
            assert!(matches!(error, Error::PayloadTooLarge(3)), "{error:?}");
        });
    }
}
