//! The files of an organisation: the list, uploads, and what is done with a file.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::address_book::{find_organisations, with_ids};
use super::extract::{Parameters, PostForm};
use super::{errors_of, html_with, new_key, optional, see_other};
use crate::Console;
use crate::api::model::{FileInfo, Load, Usage};
use crate::api::{CallError, FieldError, Service, Write, segment, with_query};
use crate::fields::Fields;
use crate::loads::{FILE_ERROR, FILES, Kind, STATUSES};
use crate::user::{Failure, User};
use crate::views::library::{FileView, LibraryView};
use crate::views::messages::sentence;
use crate::views::{Section, page as document};

/// Files on a page.
const ROWS: &str = "48";
/// Loads with a file that its page shows.
const MAX_USED: &str = "20";

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    Parameters(parameters): Parameters,
) -> Result<HttpResponse, Failure> {
    show(&console, &user, &parameters, &[], StatusCode::OK).await
}

async fn show(
    console: &Console,
    user: &User,
    parameters: &Fields,
    errors: &[&str],
    status: StatusCode,
) -> Result<HttpResponse, Failure> {
    let caller = user.caller(&console.api);
    let filters = [("q", "query"), ("type", "f:type"), ("status", "f:status"), ("cursor", "cursor")];
    let query = [parameters.parameters(&filters), vec![("limit", ROWS)]].concat();
    let (files, usage) = futures_util::join!(
        caller.get::<Vec<FileInfo>>(Service::System, "/v1/files", &query),
        caller.get::<Usage>(Service::System, "/v1/files/usage", &[]),
    );
    let mut missing = Vec::new();
    if let Err(CallError::Refused(refusal)) = &files {
        missing.push(sentence(refusal));
    }
    let files = optional(files, &mut missing)?;
    let usage = optional(usage, &mut missing)?.map(|reply| reply.value);
    let view = LibraryView {
        user,
        clock: console.clock,
        files: files.as_ref().map(|reply| reply.value.as_slice()),
        next: files.as_ref().and_then(|reply| reply.next.as_deref()),
        usage: usage.as_ref(),
        parameters,
        missing: &missing,
        key: &new_key(),
        errors,
        done: done(parameters.get("done")),
    };
    Ok(html_with(status, &document(user, Section::Files, "Files", &view.markup())))
}

fn done(name: &str) -> Option<&'static str> {
    Some(match name {
        "stored" => "Stored.",
        "archived" => "The file is archived: nobody can open it any more.",
        "shared" => "Shared.",
        "unshared" => "Not shared with them any more.",
        _ => return None,
    })
}

/// Stores files, which were passed on to system while they arrived.
pub(super) async fn upload(console: Data<Console>, form: PostForm) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let mut errors = fields.all(FILE_ERROR);
    if errors.is_empty() {
        if fields.find(FILES).is_some() {
            return Ok(see_other("/files?done=stored"));
        }
        errors.push("Choose a file first.");
    }
    show(&console, &user, &Fields::default(), &errors, StatusCode::BAD_REQUEST).await
}

fn about_path(id: &str) -> String {
    format!("/files/{}/about", segment(id))
}

pub(super) async fn about(
    console: Data<Console>,
    user: User,
    Parameters(parameters): Parameters,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    let shown = Shown { done: done(parameters.get("done")), ..Shown::default() };
    show_file(&console, &user, &id, &shown).await
}

/// What the page of a file shows besides the file.
#[derive(Default)]
struct Shown<'a> {
    done: Option<&'a str>,
    /// A link that was made.
    link: Option<&'a str>,
    /// Whom somebody typed to share the file with, and what is wrong with it.
    typed: Fields,
    errors: &'a [FieldError],
    status: StatusCode,
}

async fn show_file(
    console: &Console,
    user: &User,
    id: &str,
    shown: &Shown<'_>,
) -> Result<HttpResponse, Failure> {
    let caller = user.caller(&console.api);
    let path = format!("/v1/files/{}/info", segment(id));
    let whose = if user.is_driver() { vec![("f:driverId", "me")] } else { Vec::new() };
    let statuses = STATUSES.join(",");
    let with_file = [vec![("f:fileId", id), ("f:status", &*statuses), ("limit", MAX_USED)], whose].concat();
    let (file, organisations, loads) = futures_util::join!(
        caller.get::<FileInfo>(Service::System, &path, &[]),
        find_organisations(&caller, user.is_driver()),
        caller.get::<Vec<Load>>(Service::Logistics, "/v1/loads", &with_file),
    );
    let file = FileInfo { id: id.to_owned(), ..file?.value };
    let loads = optional(loads, &mut Vec::new())?;
    let view = FileView {
        user,
        clock: console.clock,
        file: &file,
        organisations: &organisations,
        loads: loads.as_ref().map(|reply| reply.value.as_slice()),
        has_more: loads.as_ref().is_some_and(|reply| reply.next.is_some()),
        link: shown.link,
        typed: &shown.typed,
        errors: shown.errors,
        done: shown.done,
    };
    Ok(html_with(shown.status, &document(user, Section::Files, &file.name, &view.markup())))
}

#[derive(Deserialize)]
pub(super) struct ActionPath {
    id: String,
    action: String,
}

/// Shares a file, ends sharing it, makes a link to it, or archives it.
pub(super) async fn act(
    console: Data<Console>,
    form: PostForm,
    path: Path<ActionPath>,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let ActionPath { id, action } = path.into_inner();
    let caller = user.caller(&console.api);
    let mut named = fields.clone();
    if action == "share" && fields.get("organisation") != "*" {
        let found = with_ids(&caller, &fields, &[("organisation", Kind::Organisation)]).await;
        match found.map_err(|error| {
            Failure::from(error).keeping(&format!("/files/{}/share", segment(&id)), fields.clone())
        })? {
            Ok(found) => named = found,
            Err(errors) => {
                let status = StatusCode::BAD_REQUEST;
                let shown = Shown { typed: fields, errors: &errors, status, ..Shown::default() };
                return show_file(&console, &user, &id, &shown).await;
            }
        }
    }
    let with = [named.get("organisation")];
    let own = format!("/v1/files/{}", segment(&id));
    let (method, path, body) = match action.as_str() {
        "share" => (Method::POST, "/v1/files/resolve".to_owned(), json!({"ids": [id], "shareWith": with})),
        "unshare" => {
            (Method::POST, "/v1/files/resolve".to_owned(), json!({"ids": [id], "unshareWith": with}))
        }
        "link" => {
            let hours = fields.get("hours").parse::<i64>().unwrap_or(1).clamp(1, 168);
            (Method::POST, format!("{own}/link"), json!({"expiresInSeconds": hours * 3600}))
        }
        "archive" => (Method::DELETE, own, Value::Null),
        _ => return Err(Failure::NotFound),
    };
    let body = Some(&body).filter(|body| !body.is_null());
    let sent = caller.send_json(Service::System, method, &path, body, Write::default()).await;
    let to = |done: &str| see_other(&with_query(&about_path(&id), &[("done", done)]));
    match (sent, action.as_str()) {
        (Ok(answer), "link") => {
            let shown = Shown { link: answer["url"].as_str(), ..Shown::default() };
            show_file(&console, &user, &id, &shown).await
        }
        (Ok(_), "archive") => Ok(see_other("/files?done=archived")),
        (Ok(_), "share") => Ok(to("shared")),
        (Ok(_), _) => Ok(to("unshared")),
        (Err(CallError::Refused(refusal)), _) if refusal.status != 404 => {
            let (status, errors) = (refusal.status_code(), errors_of(&refusal));
            let shown = Shown { typed: fields, errors: &errors, status, ..Shown::default() };
            show_file(&console, &user, &id, &shown).await
        }
        (Err(error), _) => {
            Err(Failure::from(error).keeping(&format!("/files/{}/{action}", segment(&id)), fields))
        }
    }
}
