//! The import of loads from sheets, and the imports of the past.

use std::io;
use std::time::Duration;

use actix_web::body::to_bytes;
use actix_web::http::StatusCode;
use actix_web::http::uri::PathAndQuery;
use actix_web::rt::spawn;
use actix_web::web::{Bytes, Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream;
use serde::Deserialize;

use super::extract::{Parameters, PostForm, now};
use super::files::{download, pass_on};
use super::import_upload::{Answer, Received, newest_imports, receive};
use super::{failure_response, html, html_with, new_key, optional};
use crate::Console;
use crate::api::batch::{BATCH_TIMEOUT, BatchAnswer, StoredBatch, Undone};
use crate::api::model::{Load, Summary};
use crate::api::{CallError, Caller, Refusal, Service, segment, with_query};
use crate::fields::Fields;
use crate::import::{Draft, Purpose};
use crate::user::{Failure, User};
use crate::views::batches::{Undo, arrived, undoing, undone};
use crate::views::import::{Start, not_arrived, running};
use crate::views::import_check::ImportView;
use crate::views::messages::sentence;
use crate::views::{Section, page as document};

/// How long a page waits for an import or its undoing: less than proxies do. Afterwards, another page asks for the
/// outcome.
const PATIENCE: Duration = Duration::from_secs(25);
/// The code of an error: the same form was sent before, and has no answer yet.
const IN_PROGRESS: &str = "idempotency_in_progress";
/// Where an import is sent to.
const RUN: &str = "/import/run";
/// Loads that are looked up for a page.
const MAX_LOADS: usize = 100;
/// Statuses in the order in which an undoing names them.
const STATUSES: &str = "upcoming,collected,completed,rejected,cancelled";

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    Parameters(query): Parameters,
) -> Result<HttpResponse, Failure> {
    show_start(&console, &user, &Fields::default(), (query.find("cursor"), None)).await
}

/// Shows the form to begin with, and the imports of the past.
async fn show_start(
    console: &Console,
    user: &User,
    typed: &Fields,
    (cursor, error): (Option<&str>, Option<&str>),
) -> Result<HttpResponse, Failure> {
    let caller = user.caller(&console.api);
    let mut parameters = vec![("limit", "20")];
    parameters.extend(cursor.map(|cursor| ("cursor", cursor)));
    let batches = caller.get::<Vec<StoredBatch>>(Service::Logistics, "/v1/loads/batches", &parameters).await;
    let mut missing = Vec::new();
    let batches = optional(batches, &mut missing)?;
    let start = Start {
        user,
        clock: console.clock,
        typed,
        batches: batches.as_ref().map(|reply| reply.value.as_slice()),
        next: batches.as_ref().and_then(|reply| reply.next.as_deref()),
        missing: &missing,
        error,
        key: &new_key(),
        may_write: may_import(user),
    };
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    Ok(html_with(status, &document(user, Section::Import, "Import", &start.markup())))
}

fn may_import(user: &User) -> bool {
    !user.is_driver() && user.person.may_write()
}

/// Says what an import would do.
pub(super) async fn check(
    console: Data<Console>,
    request: HttpRequest,
    payload: Payload,
) -> Result<HttpResponse, Failure> {
    let received = receive(&console, &request, payload, (false, |_: &Draft| Purpose::Check)).await?;
    checked(console, received, "/import/check").await
}

/// Shows what an import would do. If that takes long, the connection is kept until the page follows.
async fn checked(
    console: Data<Console>,
    received: Received,
    path: &'static str,
) -> Result<HttpResponse, Failure> {
    let page = async move { answered(&console, received, Purpose::Check, path).await };
    in_one_response(Box::pin(page), PATIENCE).await
}

/// Returns a page, or after `wait` a response that begins with blanks, one each `wait`, and ends with the page. Proxies
/// cut connections on which nothing comes.
async fn in_one_response(
    mut page: LocalBoxFuture<'static, Result<HttpResponse, Failure>>,
    wait: Duration,
) -> Result<HttpResponse, Failure> {
    if let Ok(page) = tokio::time::timeout(wait, &mut page).await {
        return page;
    }
    let parts = stream::unfold(Some(page), move |page| async move {
        let mut page = page?;
        let Ok(answer) = tokio::time::timeout(wait, &mut page).await else {
            return Some((Ok(Bytes::from_static(b" ")), Some(page)));
        };
        // The status is sent already, so the script finds a failure by this mark.
        let mark: &[u8] = if answer.is_err() { b"<template data-failed></template>" } else { b"" };
        let response = answer.unwrap_or_else(|failure| failure_response(&failure));
        let body = to_bytes(response.into_body()).await;
        let body = body.map(|body| Bytes::from([&body, mark].concat()));
        Some((body.map_err(|error| io::Error::other(error.to_string())), None))
    });
    let mut response = HttpResponse::Ok();
    response.content_type("text/html; charset=utf-8");
    // Compressed or held back by a proxy, the blanks would wait for the page.
    response.insert_header(("x-accel-buffering", "no"));
    response.insert_header(("content-encoding", "identity"));
    Ok(response.streaming(stream::once(async { Ok(Bytes::from_static(b" ")) }).chain(parts)))
}

/// Imports, all rows or the good ones.
pub(super) async fn run(
    console: Data<Console>,
    request: HttpRequest,
    payload: Payload,
) -> Result<HttpResponse, Failure> {
    let is_for_good = request.query_string() == "rows=good";
    let wanted = if is_for_good { Purpose::RunGoodRows } else { Purpose::Run };
    // What nobody has seen is not stored.
    let purpose = |draft: &Draft| if draft.is_as_checked() { wanted } else { Purpose::Check };
    let received = receive(&console, &request, payload, (true, purpose)).await?;
    match purpose(&received.draft) {
        Purpose::Check => checked(console, received, RUN).await,
        purpose => answered(&console, received, purpose, RUN).await,
    }
}

/// Shows the answer to a sheet.
async fn answered(
    console: &Console,
    received: Received,
    purpose: Purpose,
    path: &str,
) -> Result<HttpResponse, Failure> {
    let Received { user, fields, draft, names, known, answer } = received;
    let user = &user;
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return show_start(console, user, &fields, (None, Some(error))).await,
    };
    let wait = if purpose.stores() { PATIENCE } else { Duration::MAX };
    let goes_on = || {
        let again = known.as_deref().map(|known| wait_path(known, &names));
        html(&document(user, Section::Import, "Import", &running(again.as_deref())))
    };
    let response = match in_time(answer, wait).await? {
        Some(response) => response.map_err(|error| Failure::from(error).keeping(path, fields.clone()))?,
        None => return Ok(goes_on()),
    };
    let status = response.status().as_u16();
    let answer: BatchAnswer = response.json().await.map_err(|error| anyhow::anyhow!(error.without_url()))?;
    let answer = answer.flattened();
    if answer.code == IN_PROGRESS {
        return Ok(goes_on());
    }
    let changed = answer.changes.iter().map(|change| change.load_id.as_str());
    let same = answer.same_reference.iter().map(|same| same.load_id.as_str());
    let ids: Vec<&str> = same.chain(changed).take(MAX_LOADS).collect();
    let loads = find_loads(&user.caller(&console.api), &ids).await;
    let view = ImportView {
        user,
        clock: console.clock,
        draft: &draft,
        pasted: fields.get("pasted"),
        names: &names,
        answer: &answer,
        is_accepted: status < 400,
        loads: &loads,
        purpose,
        wanted_import: path == RUN,
        key: &new_key(),
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    Ok(html_with(status, &document(user, Section::Import, "Import", &view.markup())))
}

/// Waits for an answer. `None`: it takes longer, and goes on.
async fn in_time(
    answer: Answer,
    wait: Duration,
) -> Result<Option<Result<reqwest::Response, CallError>>, Failure> {
    let waited = async { Ok(Some(answer.await.map_err(anyhow::Error::from)?)) };
    if wait == Duration::MAX {
        return waited.await;
    }
    tokio::time::timeout(wait, waited).await.unwrap_or(Ok(None))
}

/// Reads loads to name them. Without them, the page shows less.
async fn find_loads(caller: &Caller<'_>, ids: &[&str]) -> Vec<Load> {
    if ids.is_empty() {
        return Vec::new();
    }
    let found = caller.get(Service::Logistics, "/v1/loads/by-ids", &[("ids", &*ids.join(","))]).await;
    found.map(|reply| reply.value).unwrap_or_default()
}

#[derive(Deserialize)]
pub(super) struct SheetPath {
    format: String,
}

impl SheetPath {
    fn format(&self) -> Result<&'static str, Failure> {
        match self.format.as_str() {
            "xlsx" => Ok("XLSX"),
            "csv" => Ok("CSV"),
            _ => Err(Failure::NotFound),
        }
    }
}

/// Returns the sheet with a column of problems.
pub(super) async fn problems(
    console: Data<Console>,
    request: HttpRequest,
    path: Path<SheetPath>,
    payload: Payload,
) -> Result<HttpResponse, Failure> {
    let sheet = Purpose::Sheet(path.format()?);
    let purpose = |draft: &Draft| if draft.is_of_other { Purpose::Check } else { sheet };
    let received = receive(&console, &request, payload, (false, purpose)).await?;
    if received.draft.is_of_other {
        return checked(console, received, "/import/check").await;
    }
    let answer = match received.answer {
        Ok(answer) => answer,
        Err(error) => {
            return show_start(&console, &received.user, &received.fields, (None, Some(error))).await;
        }
    };
    let Some(response) = in_time(answer, Duration::MAX).await? else { return Err(Failure::NotFound) };
    let response =
        response.map_err(|error| Failure::from(error).keeping(request.path(), received.fields.clone()))?;
    if response.status().is_success() {
        return pass_on(response);
    }
    let answer: BatchAnswer = response.json().await.map_err(|error| anyhow::anyhow!(error.without_url()))?;
    show_start(&console, &received.user, &received.fields, (None, Some(&answer.message))).await
}

/// Returns the template of a sheet.
pub(super) async fn template(
    console: Data<Console>,
    user: User,
    request: HttpRequest,
    path: Path<SheetPath>,
) -> Result<HttpResponse, Failure> {
    let query = [("format", path.format()?)];
    download(&console, &user, &request, (Service::Logistics, "/v1/loads/batch/template"), &query).await
}

/// Returns the address of the page that waits for an import: one of these files that is not one of the known imports.
/// It waits no longer than the console does for the answer.
fn wait_path(known: &[String], files: &[String]) -> String {
    let until = (now() + BATCH_TIMEOUT.as_secs()).to_string();
    let known = known.iter().map(|id| ("known", id.as_str()));
    let files = files.iter().map(|file| ("file", file.as_str()));
    with_query("/import/wait", &known.chain(files).chain([("until", until.as_str())]).collect::<Vec<_>>())
}

/// Looks for an import that takes longer than a page waits.
pub(super) async fn wait(
    console: Data<Console>,
    user: User,
    request: HttpRequest,
    Parameters(query): Parameters,
) -> Result<HttpResponse, Failure> {
    let (known, files) = (query.all("known"), query.all("file"));
    let newest = newest_imports(&user, &console).await?;
    let awaited = newest.iter().find(|batch| !known.contains(&batch.id.as_str()) && batch.files == files);
    let may_come = query.get("until").parse().is_ok_and(|until: u64| until > now());
    let page = match awaited {
        Some(batch) => arrived(batch),
        None if may_come => running(request.uri().path_and_query().map(PathAndQuery::as_str)),
        None => not_arrived(),
    };
    Ok(html(&document(&user, Section::Import, "Import", &page)))
}

/// Asks whether to undo an import, and says what that does.
pub(super) async fn undo_form(
    console: Data<Console>,
    user: User,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    show_undo(&console, &user, &id, &Fields::default(), None).await
}

async fn show_undo(
    console: &Console,
    user: &User,
    id: &str,
    typed: &Fields,
    error: Option<&str>,
) -> Result<HttpResponse, Failure> {
    let caller = user.caller(&console.api);
    let filters = [("f:batchId", id), ("f:status", STATUSES), ("groupBy", "status")];
    let (sums, batches) = futures_util::join!(
        caller.get::<Summary>(Service::Logistics, "/v1/loads/summary", &filters),
        caller.get::<Vec<StoredBatch>>(Service::Logistics, "/v1/loads/batches", &[("limit", "100")]),
    );
    let sums = sums?.value;
    let batches = batches?.value;
    let batch = batches.iter().find(|batch| batch.id == id);
    if batch.is_none() && sums.total.count == 0 {
        return Err(Failure::NotFound);
    }
    let action = undo_path(id);
    let view = Undo {
        user,
        clock: console.clock,
        action: &action,
        id,
        batch,
        sums: &sums,
        reason: typed.get("reason"),
        key: &new_key(),
        error,
    };
    let status = if error.is_some() { StatusCode::CONFLICT } else { StatusCode::OK };
    Ok(html_with(status, &document(user, Section::Import, "Undo an import", &view.markup())))
}

fn undo_path(id: &str) -> String {
    format!("/import/batches/{}/undo", segment(id))
}

/// Undoes an import.
pub(super) async fn undo(
    console: Data<Console>,
    form: PostForm,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let answer = user.caller(&console.api).undo_batch(&id, fields.get("reason"), fields.get("key"))?;
    let (action, list) = (undo_path(&id), with_query("/loads", &[("batch", &id), ("status", "cancelled")]));
    let goes_on = || {
        let page = undoing(&user, &action, &list, &fields);
        html(&document(&user, Section::Import, "Undo an import", &page))
    };
    let response = match in_time(spawn(answer), PATIENCE).await? {
        Some(response) => response.map_err(|error| Failure::from(error).keeping(&action, fields.clone()))?,
        None => return Ok(goes_on()),
    };
    let status = response.status().as_u16();
    if status < 400 {
        let done: Undone = response.json().await.map_err(|error| anyhow::anyhow!(error.without_url()))?;
        return Ok(html(&document(&user, Section::Import, "Undo an import", &undone(&done, &list))));
    }
    let refusal = Refusal { status, ..response.json().await.unwrap_or_default() };
    match refusal {
        Refusal { ref code, .. } if code == IN_PROGRESS => Ok(goes_on()),
        Refusal { status: 404, .. } => Err(CallError::Refused(Box::new(refusal)).into()),
        refusal => show_undo(&console, &user, &id, &fields, Some(&sentence(&refusal))).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix_web::test]
    async fn a_page_that_takes_long_keeps_the_connection() {
        let page = |millis| -> LocalBoxFuture<'static, _> {
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(millis)).await;
                Err(Failure::NotFound)
            })
        };
        let wait = Duration::from_millis(50);
        assert!(matches!(in_one_response(page(0), wait).await, Err(Failure::NotFound)));
        let response = in_one_response(page(180), wait).await.ok().unwrap();
        let text = to_bytes(response.into_body()).await.ok().unwrap();
        let text = std::str::from_utf8(&text).unwrap();
        assert!(text.starts_with("  ") && text.trim().starts_with("<!DOCTYPE html>"), "{text}");
        assert!(text.contains("There is no such page.") && text.ends_with("</template>"), "{text}");
    }
}
