//! Reading an upload: a multipart form whose files go to the store as they come, whatever the order of its fields.

use std::time::Duration;

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::http::header;
use actix_web::{HttpMessage, HttpRequest};
use common::problem::{Code, Problems};
use common::{Error, Fingerprint};
use futures_util::{Stream, StreamExt};
use serde_json::json;
use sha2::Digest;

use super::content::Staged;
use super::form::{Form, Part, TEXTS};
use crate::System;

/// The most bytes of a text field, and of all of them together.
const TEXT_BYTES: usize = 64 << 10;
const TEXTS_BYTES: usize = 1 << 20;
/// The most parts of any kind.
const PARTS: usize = 1000;
/// A client that sends nothing for so long has gone.
const PATIENCE: Duration = Duration::from_secs(60);
/// And one that has not finished after so long is given up: ten photographs take less on any line.
const LONGEST: Duration = Duration::from_secs(3600);

/// Reads the whole form. What a limit forbids is cut off there and then; whatever else is wrong is for
/// [`Form::check`] to say.
///
/// # Errors
/// 400 for a body that is no whole form or has too many files, 413, 415, 503.
pub(super) async fn receive(
    request: &HttpRequest,
    mut multipart: Multipart,
    system: &System,
) -> Result<Form, Error> {
    let encoded = request.headers().get(header::CONTENT_ENCODING).is_some_and(|v| v != "identity");
    if encoded || !request.content_type().eq_ignore_ascii_case("multipart/form-data") {
        return Err(Error::UnsupportedMediaType("multipart/form-data, not compressed"));
    }
    let late = |_| Error::MalformedBody("it took too long".into());
    tokio::time::timeout(LONGEST, parts(&mut multipart, system)).await.map_err(late)?
}

async fn parts(multipart: &mut Multipart, system: &System) -> Result<Form, Error> {
    let mut form = Form::default();
    let (mut texts_left, mut ignored_left) = (TEXTS_BYTES, system.settings.file_bytes);
    for _ in 0..=PARTS {
        let Some(mut field) = next(multipart).await? else { return Ok(form) };
        let name = field.name().unwrap_or_default().to_owned();
        if name == "file" {
            if form.files.len() == system.settings.file_count {
                return Err(too_many("file", "files", system.settings.file_count));
            }
            form.files.push(receive_file(&mut field, system).await?);
        } else if TEXTS.contains(&&*name) {
            let text = receive_text(&mut field, TEXT_BYTES.min(texts_left)).await?;
            texts_left -= text.len();
            form.texts.push((name, text));
        } else {
            ignored_left -= skip(&mut field, ignored_left).await?;
        }
    }
    Err(too_many("", "parts", PARTS))
}

/// What a repeat of the upload must equal: fields and contents, however they were wrapped.
pub(super) fn fingerprint(request: &HttpRequest, form: &Form) -> Result<Fingerprint, Error> {
    let Some(hash) = Fingerprint::start(request) else { return Ok(Fingerprint::default()) };
    let files: Vec<_> = form.files.iter().map(|f| (&f.name, &f.declared, &f.content.hash)).collect();
    Ok(Fingerprint::finish(hash.chain_update(serde_json::to_vec(&(&form.texts, files))?)))
}

async fn receive_file(field: &mut Field, system: &System) -> Result<Part, Error> {
    let limit = system.settings.file_bytes;
    let (name, declared) = (file_name(field), field.content_type().map(ToString::to_string));
    let mut content = system.store.begin();
    while let Some(chunk) = next(field).await? {
        if content.size() + chunk.len() as u64 > limit as u64 {
            return Err(Error::PayloadTooLarge(limit));
        }
        content.push(&chunk).await?;
    }
    let content: Staged = content.finish().await?;
    Ok(Part { name, declared, content })
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

async fn next<T>(
    stream: &mut (impl Stream<Item = Result<T, MultipartError>> + Unpin),
) -> Result<Option<T>, Error> {
    match tokio::time::timeout(PATIENCE, stream.next()).await {
        Ok(Some(Err(error))) => Err(Error::MalformedBody(format!("it is no whole multipart form ({error})"))),
        Ok(more) => Ok(more.transpose().ok().flatten()),
        Err(_) => Err(Error::MalformedBody("nothing more of it came".into())),
    }
}

fn too_many(path: &str, what: &str, limit: usize) -> Error {
    let mut problems = Problems::default();
    let message = format!("must be at most {limit} {what}");
    problems.push_with(path, Code::Length, message, json!({ "maximum": limit }));
    Error::Validation(problems)
}
