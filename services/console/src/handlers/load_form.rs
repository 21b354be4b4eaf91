//! The forms of what is done with a load.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use maud::html as markup;
use reqwest::Method;
use serde_json::json;

use super::address_book::{find_drivers, find_organisations, with_ids};
use super::extract::{Parameters, PostForm};
use super::load::{find_files, find_load, load_path};
use super::{html_with, new_key, see_other};
use crate::Console;
use crate::api::model::{Load, Named};
use crate::api::{CallError, Caller, FieldError, Service, Write, segment, with_query};
use crate::fields::Fields;
use crate::loads::{Action, Conflict, Form, LIST, ListQuery, changed, conflicts, warning_codes};
use crate::user::{Failure, User};
use crate::views::forms::{FormView, Suggestions, notices};
use crate::views::load::tickets;
use crate::views::messages::sentence;
use crate::views::{Section, page as document, status};

/// How often an edit is sent again because others changed the load meanwhile.
const MAX_MERGES: usize = 3;

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
    /// The list from which one came.
    list: &'a ListQuery,
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
    Parameters(parameters): Parameters,
) -> Result<HttpResponse, Failure> {
    let action = path.action()?;
    let load = find_load(&user.caller(&console.api), &path.id).await?;
    let form = Form::new(action, &load, &user.person).in_zone(console.clock);
    let initial = form.initial(&load, console.clock);
    let shown = Shown {
        list: &ListQuery::parse(parameters.get(LIST)),
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

async fn show(
    console: &Console,
    user: &User,
    action: Action,
    load: &Load,
    shown: &Shown<'_>,
) -> Result<HttpResponse, Failure> {
    let caller = user.caller(&console.api);
    let form = shown.form;
    let mut missing = Vec::new();
    let files = async {
        // The weights of a ticket are typed beside its picture.
        if form.has_quality { find_files(&caller, load, &mut missing).await } else { Ok(Vec::new()) }
    };
    let (suggestions, files) = futures_util::join!(find_suggestions(&caller, form, user.is_driver()), files);
    let tickets = tickets(&files?, load);
    let (placed, others) = form.place(shown.typed, shown.errors);
    let back = shown.list.load_path(&load.id);
    let view = FormView {
        user,
        action: &format!("/loads/{}/{}", segment(&load.id), action.slug()),
        list: &shown.list.encoded(),
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
        @if let Some(tickets) = &tickets {
            div.grid.two { div { (view.markup()) } section.card.pad { (tickets) } }
        } @else { (view.markup()) }
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
    let list = ListQuery::parse(sent.get(LIST));
    match result.await.map_err(|failure| failure.keeping(&place, sent))? {
        Outcome::Done(warnings) => {
            let to = format!("/loads/{}", segment(&path.id));
            let warnings = warnings.iter().map(|code| ("warning", code.as_str()));
            let query: Vec<_> = std::iter::once(("done", action.slug())).chain(warnings).collect();
            Ok(see_other(&list.kept_by(&with_query(&to, &query))))
        }
        Outcome::Again(again) => {
            let Again { load, form, typed, was, revision, errors, conflicts, status } = *again;
            let (form, typed, was, revision) = (&form, &typed, &was, &*revision);
            let (errors, conflicts) = (&*errors, &*conflicts);
            let shown = Shown { list: &list, form, typed, was, revision, errors, conflicts, status };
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
    match with_ids(&caller, &merged(&sent.typed, &sent.was), &sent.form.named()).await? {
        Ok(named) => sent.typed = named,
        Err(errors) => return Ok(sent.again(load, errors, 400)),
    }
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
        Action::AddFiles => of_load("files"),
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
    let caller = user.caller(&console.api);
    let named = with_ids(&caller, &sent.typed, &sent.form.named()).await?;
    let mut body = match named.and_then(|named| sent.form.body(&named, &sent.form.names())) {
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
