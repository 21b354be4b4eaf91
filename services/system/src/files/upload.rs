//! Reading an upload: its files go to the store as they come.

use actix_web::HttpRequest;
use common::Error;
use common::multipart::{self, FilePart, Limits, Payload};

use super::form::{Form, Part, TEXTS};
use crate::System;

/// Reads the whole form. Whatever else is wrong with it is for [`Form::check`] to say.
///
/// # Errors
/// 400 for a body that is no whole form or has too many files, 413, 415, 503.
pub(super) async fn receive(request: &HttpRequest, form: Payload, system: &System) -> Result<Form, Error> {
    let settings = &system.settings;
    let limits = Limits { texts: &TEXTS, files: settings.file_count, file_bytes: settings.file_bytes };
    multipart::receive(request, form, limits, async |part| keep(part, system).await).await.map(Form)
}

async fn keep(mut part: FilePart<'_>, system: &System) -> Result<Part, Error> {
    let mut content = system.store.begin();
    while let Some(chunk) = part.next().await? {
        content.push(&chunk).await?;
    }
    Ok(Part { content: content.finish().await?, name: part.name, declared: part.declared })
}
