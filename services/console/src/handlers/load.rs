//! A load, and the forms of what is done with it.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use maud::html as markup;
use reqwest::Method;
use serde_json::json;

use super::events::find_position;
use super::extract::PostForm;
use super::loads::{borrowed, find_drivers, find_organisations};
use super::{html, html_with, new_key, optional, see_other};
use crate::Console;
use crate::api::model::{Driver, Event, FileInfo, Load, Named};
use crate::api::{CallError, Caller, FieldError, Reply, Service, Write, segment, with_query};
use crate::fields::Fields;
use crate::loads::{
    Action, Conflict, Form, ListQuery, changed, conflicts, offered, warning_codes, warning_sentence,
};
use crate::user::{Failure, User};
use crate::views::forms::{FormView, Suggestions, notices};
use crate::views::load::{LoadView, file_ids};
use crate::views::messages::sentence;
use crate::views::{Section, page as document, status};

/// How often an edit is sent again because others changed the load meanwhile.
const MAX_MERGES: usize = 3;
/// The most pages of 100 events that a history shows.
const MAX_EVENT_PAGES: usize = 10;
/// Ids are shorter. The rest of a longer one is left out.
const MAX_ID_CHARS: usize = 100;

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    request: HttpRequest,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    let caller = user.caller(&console.api);
    let parameters = Fields::parse(request.query_string().as_bytes());
    let list = ListQuery::parse(parameters.get("list"));
    let path = load_path(&id);
    let (events_path, drivers_path) = (format!("{path}/events"), format!("{path}/drivers"));
    let list_page = list.page(user.is_driver(), console.clock);
    let list_page = borrowed(&list_page);
    let (load, events, drivers, position, listed) = futures_util::join!(
        caller.get::<Load>(Service::Logistics, &path, &[]),
        find_events(&caller, &events_path),
        caller.get::<Vec<Driver>>(Service::Logistics, &drivers_path, &[]),
        find_position(&caller),
        async {
            // Only somebody who comes from a list goes on in it.
            match parameters.find("list") {
                Some(_) => caller.get::<Vec<Load>>(Service::Logistics, "/v1/loads", &list_page).await.ok(),
                None => None,
            }
        },
    );
    let load = load?.value;
    let mut missing = Vec::new();
    let (events, drivers) = (optional(events, &mut missing)?, optional(drivers, &mut missing)?);
    let events = match events {
        Some(reply) => reply.value,
        // A driver and a former party read notes only.
        None => find_notes(&caller, &events_path).await,
    };
    let files = find_files(&caller, &load, &mut missing).await?;
    let is_accepted = events.iter().any(|event| event.kind == "accepted");
    let listed = listed.map(|reply| reply.value).unwrap_or_default();
    let view = LoadView {
        load: &load,
        clock: console.clock,
        events: &events,
        drivers: drivers.as_ref().map(|reply| reply.value.as_slice()),
        files: &files,
        actions: &offered(&load, &user.person, is_accepted),
        neighbours: neighbours(&listed, &load.id, &list),
        list: &list.path(),
        missing: &missing,
        position: position.as_ref(),
        done: match parameters.get("done") {
            "new" => Some("The load is created."),
            slug => Action::of_slug(slug).map(done),
        },
        warnings: &parameters.all("warning").into_iter().filter_map(warning_sentence).collect::<Vec<_>>(),
        may_copy: user.person.organisation_id.is_some() && !user.person.is_viewer && !user.person.is_weigher,
    };
    Ok(html(&document(&user, Section::Loads, &load.reference, &view.markup())))
}

pub(super) fn load_path(id: &str) -> String {
    let id: String = id.chars().take(MAX_ID_CHARS).collect();
    format!("/v1/loads/{}", segment(&id))
}

/// Reads the history, oldest first.
async fn find_events(caller: &Caller<'_>, path: &str) -> Result<Reply<Vec<Event>>, CallError> {
    let mut found = caller.get::<Vec<Event>>(Service::Logistics, path, &[("limit", "100")]).await?;
    for _ in 1..MAX_EVENT_PAGES {
        let Some(cursor) = found.next.take() else { break };
        let more = [("limit", "100"), ("cursor", &*cursor)];
        let more = caller.get::<Vec<Event>>(Service::Logistics, path, &more).await?;
        found.value.extend(more.value);
        found.next = more.next;
    }
    Ok(found)
}

async fn find_notes(caller: &Caller<'_>, path: &str) -> Vec<Event> {
    let notes = caller.get(Service::Logistics, path, &[("f:type", "noted"), ("limit", "100")]);
    notes.await.map(|reply| reply.value).unwrap_or_default()
}

/// Reads what kind of files the load has. Without system, the page shows no picture.
async fn find_files(
    caller: &Caller<'_>,
    load: &Load,
    missing: &mut Vec<String>,
) -> Result<Vec<FileInfo>, Failure> {
    let ids = file_ids(load);
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let body = json!({"ids": ids, "brief": true});
    let path = "/v1/files/resolve";
    let found = caller.send_json(Service::System, Method::POST, path, Some(&body), Write::default()).await;
    let found = found.map(|value| Reply { value, total: None, next: None });
    let found = optional(found, missing)?.map(|reply| reply.value).unwrap_or_default();
    Ok(serde_json::from_value(found).unwrap_or_default())
}

/// Returns the addresses of the loads before and after this one in a page of a list.
fn neighbours(listed: &[Load], id: &str, list: &ListQuery) -> [Option<String>; 2] {
    let Some(index) = listed.iter().position(|load| load.id == id) else { return [None, None] };
    let query = list.encoded();
    let address = |load: &Load| with_query(&format!("/loads/{}", segment(&load.id)), &[("list", &query)]);
    let before = index.checked_sub(1).and_then(|index| listed.get(index));
    [before.map(address), listed.get(index + 1).map(address)]
}

fn done(action: Action) -> &'static str {
    match action {
        Action::Edit => "Saved.",
        Action::Collect => "The collection is recorded.",
        Action::Prove => "The delivery is proven.",
        Action::Correct => "The proof is corrected.",
        Action::Accept => "Accepted.",
        Action::SendToCarrier | Action::SendToDriver => "Sent.",
        Action::Reject => "The rejection is recorded.",
        Action::Cancel => "Cancelled.",
        Action::Reopen => "Reopened.",
        Action::Note => "The note is written.",
    }
}

#[derive(serde::Deserialize)]
pub(super) struct FormPath {
    id: String,
    action: String,
}

impl FormPath {
    fn action(&self) -> Result<Action, Failure> {
        Action::of_slug(&self.action).ok_or(Failure::NotFound)
    }
}

/// A form on its page.
struct Shown<'a> {
    form: &'a Form,
    typed: &'a Fields,
    was: &'a Fields,
    /// The revision that `was` is of.
    revision: &'a str,
    errors: &'a [FieldError],
    conflicts: &'a [Conflict],
    status: StatusCode,
}

pub(super) async fn form(
    console: Data<Console>,
    user: User,
    path: Path<FormPath>,
) -> Result<HttpResponse, Failure> {
    let action = path.action()?;
    let load = find_load(&user.caller(&console.api), &path.id).await?;
    let form = Form::new(action, &load, &user.person).in_zone(console.clock);
    let initial = form.initial(&load, console.clock);
    let shown = Shown {
        form: &form,
        typed: &initial,
        was: &initial,
        revision: &load.revision.to_string(),
        errors: &[],
        conflicts: &[],
        status: StatusCode::OK,
    };
    show(&console, &user, action, &load, &shown).await
}

pub(super) async fn find_load(caller: &Caller<'_>, id: &str) -> Result<Load, CallError> {
    Ok(caller.get(Service::Logistics, &load_path(id), &[]).await?.value)
}

async fn show(
    console: &Console,
    user: &User,
    action: Action,
    load: &Load,
    shown: &Shown<'_>,
) -> Result<HttpResponse, Failure> {
    let caller = user.caller(&console.api);
    let form = shown.form;
    let suggestions = find_suggestions(&caller, form, user.is_driver()).await;
    let (placed, others) = form.place(shown.typed, shown.errors);
    let back = format!("/loads/{}", segment(&load.id));
    let view = FormView {
        user,
        action: &format!("{back}/{}", action.slug()),
        submit: if action == Action::Edit { "Save" } else { action.title() },
        back: &back,
        form,
        typed: shown.typed,
        was: form.sends_changes().then_some(shown.was),
        revision: shown.revision,
        key: &new_key(),
        suggestions: &suggestions,
        errors: &placed,
        conflicts: shown.conflicts,
    };
    let body = markup! {
        div.head {
            h1 { (load.reference) ": " (action.title()) }
            (status(&load.status))
            small { (load.commodity.name) ", " (console.clock.delivery(&load.delivery)) }
        }
        (notices(&others))
        @if !shown.conflicts.is_empty() {
            p.notice.bad role="alert" { "Somebody else changed the load meanwhile. Choose what to keep, then save again." }
        }
        (view.markup())
        details.curl {
            summary { "As curl" }
            pre tabindex="0" { (curl(action, load, form, shown.typed)) }
        }
    };
    let title = format!("{}: {}", load.reference, action.title());
    Ok(html_with(shown.status, &document(user, Section::Loads, &title, &body)))
}

pub(super) async fn find_suggestions(caller: &Caller<'_>, form: &Form, is_driver: bool) -> Suggestions {
    let has = |name: &str| form.fields.iter().any(|field| field.name == name);
    let commodities = async {
        if !has("commodityId") {
            return Vec::new();
        }
        let found = caller.get::<Vec<Named>>(Service::Logistics, "/v1/commodities", &[]).await;
        found.map(|reply| reply.value).unwrap_or_default()
    };
    let drivers = find_drivers(caller, has("driverId"));
    let organisations = async {
        if has("carrierId") || has("organisationId") {
            find_organisations(caller, is_driver).await
        } else {
            Vec::new()
        }
    };
    let (commodities, organisations, drivers) = futures_util::join!(commodities, organisations, drivers);
    Suggestions { commodities, organisations, drivers }
}

pub(super) async fn submit(
    console: Data<Console>,
    form: PostForm,
    path: Path<FormPath>,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let action = path.action()?;
    let sent = fields.clone();
    let result = async {
        let load = find_load(&user.caller(&console.api), &path.id).await?;
        match action {
            Action::Edit | Action::Correct => send_changes(&console, &user, action, load, fields).await,
            _ => act(&console, &user, action, load, fields, None).await,
        }
    };
    let place = format!("/loads/{}/{}", segment(&path.id), action.slug());
    match result.await.map_err(|failure| failure.keeping(&place, sent))? {
        Outcome::Done(warnings) => {
            let to = format!("/loads/{}", segment(&path.id));
            let warnings = warnings.iter().map(|code| ("warning", code.as_str()));
            let query: Vec<_> = std::iter::once(("done", action.slug())).chain(warnings).collect();
            Ok(see_other(&with_query(&to, &query)))
        }
        Outcome::Again(again) => {
            let Again { load, form, typed, was, revision, errors, conflicts, status } = *again;
            let (form, typed, was, revision) = (&form, &typed, &was, &*revision);
            let (errors, conflicts) = (&*errors, &*conflicts);
            let shown = Shown { form, typed, was, revision, errors, conflicts, status };
            show(&console, &user, action, &load, &shown).await
        }
    }
}

/// What became of a form.
pub(super) enum Outcome {
    /// With the codes of warnings.
    Done(Vec<String>),
    Again(Box<Again>),
}

/// A form that is shown again: with errors, or with what somebody else changed.
pub(super) struct Again {
    load: Load,
    form: Form,
    typed: Fields,
    was: Fields,
    /// The revision that `was` is of.
    revision: String,
    pub(super) errors: Vec<FieldError>,
    conflicts: Vec<Conflict>,
    pub(super) status: StatusCode,
}

/// A form as it was sent.
struct Sent {
    form: Form,
    typed: Fields,
    was: Fields,
}

impl Sent {
    /// Returns the revision that the form was made with; 0, which no load has, if the field has something else.
    fn revision(&self) -> String {
        let revision = self.typed.get("revision");
        if revision.parse::<i64>().is_ok() { revision.to_owned() } else { "0".to_owned() }
    }

    /// Returns the idempotency key of the form.
    fn key(&self) -> Option<String> {
        let key = self.typed.get("key");
        let is_key = !key.is_empty() && key.len() <= 255 && key.bytes().all(|byte| byte.is_ascii_graphic());
        is_key.then(|| key.to_owned())
    }

    /// Shows the form again with errors.
    fn again(self, load: Load, errors: Vec<FieldError>, status: u16) -> Outcome {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
        let revision = self.revision();
        let Self { form, typed, was } = self;
        Outcome::Again(Box::new(Again {
            load,
            form,
            typed,
            was,
            revision,
            errors,
            conflicts: Vec::new(),
            status,
        }))
    }
}

/// Returns an error that belongs to no field.
fn notice(message: &str) -> FieldError {
    FieldError { path: String::new(), message: message.to_owned() }
}

/// Sends what an edit or a correction changed. What others changed meanwhile is merged: only a field that both changed
/// is asked about.
async fn send_changes(
    console: &Console,
    user: &User,
    action: Action,
    mut load: Load,
    typed: Fields,
) -> Result<Outcome, Failure> {
    let caller = user.caller(&console.api);
    let form = match action {
        Action::Edit => Form::of_edit(&typed).in_zone(console.clock),
        _ => Form::new(action, &load, &user.person),
    };
    let (typed, was) = chosen(&form, typed);
    let mut sent = Sent { form, typed, was };
    let open = unchosen(&sent);
    if !open.is_empty() {
        let errors = open.iter().map(|conflict| FieldError {
            path: conflict.name.clone(),
            message: "was changed by somebody else too: choose which of the two to keep".to_owned(),
        });
        let errors = errors.collect();
        let mut outcome = sent.again(load, errors, StatusCode::PRECONDITION_FAILED.as_u16());
        if let Outcome::Again(again) = &mut outcome {
            again.conflicts = open;
        }
        return Ok(outcome);
    }
    let names = changed(&merged(&sent.typed, &sent.was), &sent.form.all_names());
    let names = with_carrier(names, &sent.typed);
    if names.is_empty() && action == Action::Edit {
        return Ok(Outcome::Done(Vec::new()));
    }
    let (mut revision, mut key) = (sent.revision(), sent.key());
    let method = if action == Action::Edit { Method::PATCH } else { Method::POST };
    let path = operation(action, &load.id);
    for _ in 0..MAX_MERGES {
        let body = match sent.form.body(&merged(&sent.typed, &sent.was), &names) {
            Ok(body) => body,
            Err(errors) => return Ok(sent.again(load, errors, 400)),
        };
        let key = key.take().filter(|_| action != Action::Edit);
        let write = Write { key: key.as_deref(), revision: Some(&revision) };
        let answer = caller.send_json(Service::Logistics, method.clone(), &path, Some(&body), write).await;
        let error = match answer {
            Ok(answer) => return Ok(Outcome::Done(warning_codes(&answer))),
            Err(error) => error,
        };
        if error.refused_with(StatusCode::PRECONDITION_FAILED).is_none() {
            return refused(error, load, sent);
        }
        load = find_load(&caller, &load.id).await?;
        let now = sent.form.initial(&load, console.clock);
        let conflicts = conflicts(&merged(&sent.typed, &sent.was), &names, &now);
        // What only they changed is theirs.
        sent.typed = with_theirs(&sent.form, &sent.typed, &names, &now);
        revision = load.revision.to_string();
        if !conflicts.is_empty() {
            return Ok(Outcome::Again(Box::new(Again {
                load,
                form: sent.form,
                typed: sent.typed,
                was: now,
                revision,
                errors: Vec::new(),
                conflicts,
                status: StatusCode::PRECONDITION_FAILED,
            })));
        }
    }
    Err(anyhow::anyhow!("the load changes faster than it can be edited").into())
}

/// Returns the fields that the form asked about and that have no answer.
fn unchosen(sent: &Sent) -> Vec<Conflict> {
    let is_open = |name: &&str| !["mine", "theirs"].contains(&sent.typed.get(&format!("choice.{name}")));
    let asked = sent.typed.all("conflict").into_iter().filter(is_open);
    asked.map(|name| Conflict { name: name.to_owned(), theirs: sent.was.get(name).to_owned() }).collect()
}

/// Applies the choices between two edits, and returns the fields and what they were.
fn chosen(form: &Form, typed: Fields) -> (Fields, Fields) {
    let names = form.all_names();
    let was = names.iter().map(|name| ((*name).to_owned(), typed.get(&format!("was.{name}")).to_owned()));
    let was = Fields(was.collect());
    let is_theirs = |name: &str| typed.get(&format!("choice.{name}")) == "theirs";
    let value =
        |name: &str, value: &str| if is_theirs(name) { was.get(name).to_owned() } else { value.to_owned() };
    let fields = typed.0.iter().map(|(name, own)| (name.clone(), value(name, own)));
    (Fields(fields.collect()), was)
}

/// Returns the fields with what they were, as the form carries both.
fn merged(typed: &Fields, was: &Fields) -> Fields {
    let typed = typed.0.iter().filter(|(name, _)| !name.starts_with("was.")).cloned();
    Fields(typed.chain(was.0.iter().map(|(name, value)| (format!("was.{name}"), value.clone()))).collect())
}

fn with_theirs(form: &Form, typed: &Fields, mine: &[&str], now: &Fields) -> Fields {
    let value = |name: &'static str| if mine.contains(&name) { typed.get(name) } else { now.get(name) };
    Fields(form.all_names().into_iter().map(|name| (name.to_owned(), value(name).to_owned())).collect())
}

/// Completes the members of an edit: a name of a haulier is sent with its id, and not if there is no haulier.
fn with_carrier<'a>(mut names: Vec<&'a str>, typed: &Fields) -> Vec<&'a str> {
    if names.contains(&"carrierName") && !names.contains(&"carrierId") {
        names.push("carrierId");
    }
    if typed.get("carrierId").is_empty() && typed.get("carrierName").is_empty() {
        names.retain(|name| *name != "carrierName");
    }
    names
}

/// Returns the path of the operation that an action calls.
fn operation(action: Action, id: &str) -> String {
    let of_load = |rest: &str| format!("{}/{rest}", load_path(id));
    match action {
        Action::Edit => load_path(id),
        Action::Collect => of_load("collection"),
        Action::Prove => of_load("proof-of-delivery"),
        Action::Correct => of_load("proof-of-delivery/corrections"),
        Action::Reject => of_load("rejection"),
        Action::Note => of_load("notes"),
        Action::SendToCarrier | Action::SendToDriver => format!("/v1/loads/{}", action.slug()),
        Action::Accept | Action::Cancel | Action::Reopen => of_load(action.slug()),
    }
}

/// Returns the operation as a command, with what the form contains. It teaches the API to developers.
fn curl(action: Action, load: &Load, form: &Form, typed: &Fields) -> String {
    let method = if action == Action::Edit { "PATCH" } else { "POST" };
    let mut body = form.body(typed, &form.names()).unwrap_or_else(|_| json!({}));
    if matches!(action, Action::SendToCarrier | Action::SendToDriver) {
        body["loadId"] = json!(load.id);
    }
    let path = operation(action, &load.id);
    let body = body.to_string().replace('\'', "'\\''");
    let mut parts =
        vec![format!("curl -X {method} \"$LOGISTICS{path}\" -H \"Authorization: Bearer $TOKEN\"")];
    if action == Action::Edit {
        parts.push(format!("-H 'If-Match: \"{}\"'", load.revision));
    }
    if action != Action::Accept {
        parts.push(format!("-H 'Content-Type: application/json' -d '{body}'"));
    }
    parts.join(" ")
}

/// Sends the form of another action. `captured_at`: when it was filled in, if that was earlier.
pub(super) async fn act(
    console: &Console,
    user: &User,
    action: Action,
    load: Load,
    typed: Fields,
    captured_at: Option<&str>,
) -> Result<Outcome, Failure> {
    let form = Form::new(action, &load, &user.person);
    let sent = Sent { form, typed, was: Fields::default() };
    let mut body = match sent.form.body(&sent.typed, &sent.form.names()) {
        Ok(body) => body,
        Err(errors) => return Ok(sent.again(load, errors, 400)),
    };
    if matches!(action, Action::SendToCarrier | Action::SendToDriver) {
        body["loadId"] = json!(load.id);
    }
    if let Some(captured_at) = captured_at {
        body["capturedAtUTC"] = json!(captured_at);
    }
    // An acceptance has no body.
    let body = (action != Action::Accept).then_some(&body);
    let path = operation(action, &load.id);
    let key = sent.key();
    let write = Write { key: key.as_deref(), revision: None };
    let caller = user.caller(&console.api);
    let answer = caller.send_json(Service::Logistics, Method::POST, &path, body, write).await;
    let error = match answer {
        Ok(answer) => return Ok(Outcome::Done(warning_codes(&answer))),
        Err(error) => error,
    };
    if error
        .refused_with(StatusCode::CONFLICT)
        .is_some_and(|refusal| refusal.code == "idempotency_key_reused")
    {
        // A double click: the pictures of the second one have other ids.
        let recorded = match action {
            Action::Prove => "completed",
            Action::Collect => "collected",
            Action::Reject => "rejected",
            _ => "",
        };
        if find_load(&caller, &load.id).await?.status == recorded {
            return Ok(Outcome::Done(Vec::new()));
        }
        let message = "This form was sent before, and the load shows what was recorded then. Send it again only if \
            something else is to be recorded.";
        return Ok(sent.again(load, vec![notice(message)], StatusCode::CONFLICT.as_u16()));
    }
    refused(error, load, sent)
}

/// Shows a form again with what the service says about it.
fn refused(error: CallError, load: Load, sent: Sent) -> Result<Outcome, Failure> {
    match error {
        CallError::Refused(refusal) if refusal.status != 404 => {
            let errors = if refusal.validation.is_empty() {
                vec![notice(&sentence(&refusal))]
            } else {
                refusal.validation
            };
            // The first one is still running: that passes.
            let status = if refusal.code == "idempotency_in_progress" { 503 } else { refusal.status };
            Ok(sent.again(load, errors, status))
        }
        error => Err(error.into()),
    }
}
