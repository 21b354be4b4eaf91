//! A webhook: its form, its deliveries, and what is done with it.

use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use chrono::DateTime;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::connections::count;
use super::extract::{Parameters, PostForm};
use super::secret::NewSecret;
use super::{SUMS_TIMEOUT, errors_of, html_with, new_key, only, optional, see_other};
use crate::Console;
use crate::api::connections::Delivery;
use crate::api::model::{FeedPage, Webhook};
use crate::api::{CallError, Caller, FieldError, Service, Write, segment, with_query};
use crate::fields::Fields;
use crate::format::parse_date;
use crate::user::{Failure, User};
use crate::views::connections::{Hook, hook_path};
use crate::views::loads::counted;
use crate::views::webhooks::{DeliveryView, Missed, WebhookForm, WebhookView, off_since};
use crate::views::{Section, page as document};

/// How often, and with which pauses, the outcome of a test is asked for.
const TEST_POLLS: usize = 16;
const TEST_PAUSE: Duration = Duration::from_millis(500);
/// Deliveries on a page.
const ROWS: &str = "50";
/// The newest events of loads that are looked at for those that a webhook missed: the most that the feed returns.
const NEWEST: &str = "20";
/// Events on a page of the feed.
const FEED_ROWS: &str = "500";

/// Returns the service that a part of an address names.
fn service_of(name: &str) -> Result<Service, Failure> {
    match name {
        "loads" => Ok(Service::Logistics),
        "market" => Ok(Service::Livestock),
        _ => Err(Failure::NotFound),
    }
}

fn api_path(id: &str) -> String {
    format!("/v1/webhooks/{}", segment(id))
}

#[derive(Deserialize)]
pub(super) struct HookPath {
    service: String,
    id: String,
}

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    Parameters(parameters): Parameters,
    path: Path<HookPath>,
) -> Result<HttpResponse, Failure> {
    show(&console, &user, &path, &parameters, &[], StatusCode::OK).await
}

async fn show(
    console: &Console,
    user: &User,
    path: &HookPath,
    parameters: &Fields,
    errors: &[FieldError],
    status: StatusCode,
) -> Result<HttpResponse, Failure> {
    let service = service_of(&path.service)?;
    let caller = user.caller(&console.api);
    let own = api_path(&path.id);
    let deliveries = format!("{own}/deliveries");
    let mut query =
        parameters.parameters(&[("status", "f:status"), ("event", "f:event"), ("cursor", "cursor")]);
    query.push(("limit", ROWS));
    let (webhook, listed, delivered, failed) = futures_util::join!(
        caller.get::<Webhook>(service, &own, &[]),
        caller.get::<Vec<Delivery>>(service, &deliveries, &query),
        count(&caller, service, &deliveries, "delivered"),
        count(&caller, service, &deliveries, "failed"),
    );
    let hook = Hook { service, webhook: webhook?.value, delivered, failed };
    let mut missing = Vec::new();
    let listed = optional(listed, &mut missing)?;
    let off = match parameters.find("off").filter(|_| parameters.get("done") == "enabled") {
        _ if hook.is_disabled() => Some((&*hook.webhook.updated_at, None)),
        Some(off) => Some((off, Some(&*hook.webhook.updated_at))),
        None => None,
    };
    let missed = match off {
        Some(span) => count_missed(&caller, user, &hook, span).await,
        None => None,
    };
    let (key, count) = (new_key(), parameters.get("count").parse::<u64>().unwrap_or_default());
    let done = match parameters.get("done") {
        "redelivered" => {
            let verb = if count == 1 { "is" } else { "are" };
            let more = if parameters.get("more").is_empty() {
                ""
            } else {
                " There are more, which are later: deliver them when these have arrived."
            };
            Some(format!("{} {verb} delivered again.{more}", counted(count, "event")))
        }
        "enabled" => {
            let off = off.map(|(at, _)| off_since("It was off", at, missed, console.clock));
            let off = off.unwrap_or_default();
            Some(format!("It gets events again. Those that failed can be delivered below. {off}"))
        }
        "disabled" => Some("It gets no events any more.".to_owned()),
        "saved" => Some("Saved.".to_owned()),
        _ => None,
    };
    let view = WebhookView {
        user,
        clock: console.clock,
        hook: &hook,
        deliveries: listed.as_ref().map_or(&[], |reply| reply.value.as_slice()),
        next: listed.as_ref().and_then(|reply| reply.next.as_deref()),
        status: parameters.get("status"),
        missed,
        missing: &missing,
        errors,
        done: done.as_deref(),
        key: &key,
    };
    Ok(html_with(status, &document(user, Section::Connections, "Webhook", &view.markup())))
}

/// Counts the events from a time on, or between two times, that a webhook would have got. `None` if that is not known,
/// or takes longer than a page waits.
async fn count_missed(
    caller: &Caller<'_>,
    user: &User,
    hook: &Hook,
    (from, until): (&str, Option<&str>),
) -> Option<Missed> {
    let time = |text: &str| DateTime::parse_from_rfc3339(text).ok();
    let (from, until) = (time(from)?, until.and_then(time));
    // An administrator reads the events of all organisations.
    if user.person.is_admin && hook.webhook.scope != "all" {
        return None;
    }
    let is_missed = |at: &str| {
        let at = time(at);
        at.is_some_and(|at| at >= from && until.is_none_or(|until| at < until))
    };
    let missed = |page: &FeedPage| page.events.iter().filter(|event| is_missed(&event.at)).count() as u64;
    let types = hook.webhook.events.iter().map(|event| ("f:type", &**event)).collect::<Vec<_>>();
    let read = async |parameters: &[(&str, &str)]| {
        let parameters = [&types, parameters].concat();
        Some(caller.get::<FeedPage>(hook.service, "/v1/events", &parameters).await.ok()?.value)
    };
    let counted = async {
        if hook.service == Service::Logistics {
            let page = read(&[("newest", NEWEST)]).await?;
            let is_older = page.events.iter().any(|event| time(&event.at).is_some_and(|at| at < from));
            let is_cut = !is_older && page.events.len().to_string() == NEWEST;
            return Some(Missed { count: missed(&page), is_cut });
        }
        let mut page = read(&[("limit", FEED_ROWS)]).await?;
        let mut count = missed(&page);
        while page.more {
            page = read(&[("limit", FEED_ROWS), ("after", &page.cursor)]).await?;
            count += missed(&page);
        }
        Some(Missed { count, is_cut: false })
    };
    tokio::time::timeout(SUMS_TIMEOUT, counted).await.ok()?
}

#[derive(Deserialize)]
pub(super) struct ServicePath {
    service: String,
}

pub(super) async fn new_form(user: User, path: Path<ServicePath>) -> Result<HttpResponse, Failure> {
    let service = service_of(&path.service)?;
    only(user.person.may_write())?;
    Ok(show_form(&user, service, None, &Fields::default(), &[], StatusCode::OK))
}

fn show_form(
    user: &User,
    service: Service,
    webhook: Option<&Webhook>,
    typed: &Fields,
    errors: &[FieldError],
    status: StatusCode,
) -> HttpResponse {
    let was = webhook.map(|webhook| initial(webhook).encoded());
    let view = WebhookForm { user, service, webhook, was: was.as_deref(), typed, errors, key: &new_key() };
    html_with(status, &document(user, Section::Connections, "Webhook", &view.markup()))
}

/// Returns what a form says of a webhook.
fn form_body(fields: &Fields, user: &User) -> Value {
    let description = fields.get("description");
    let mut body = json!({
        "url": fields.get("url"), "events": fields.all("events"),
        "description": (!description.is_empty()).then_some(description),
    });
    if user.person.is_admin {
        body["scope"] = json!(if fields.find("all").is_some() { "all" } else { "own" });
    }
    body
}

/// Creates a webhook, and shows its secret.
pub(super) async fn create(
    console: Data<Console>,
    form: PostForm,
    path: Path<ServicePath>,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let service = service_of(&path.service)?;
    let body = form_body(&fields, &user);
    let write = Write { key: Some(fields.get("key")), revision: None };
    let caller = user.caller(&console.api);
    match caller.send_json(service, Method::POST, "/v1/webhooks", Some(&body), write).await {
        Ok(webhook) => show_secret(&console, &user, service, webhook),
        Err(CallError::Refused(refusal)) => {
            Ok(show_form(&user, service, None, &fields, &errors_of(&refusal), refusal.status_code()))
        }
        Err(error) => {
            let place = format!("/connections/webhooks/{}/new", segment(&path.service));
            Err(Failure::from(error).keeping(&place, fields))
        }
    }
}

/// Returns the failure of an answer that is not what the API describes.
fn unexpected(service: Service) -> Failure {
    anyhow::anyhow!("{} answers something unexpected", service.name()).into()
}

fn show_secret(
    console: &Console,
    user: &User,
    service: Service,
    webhook: Value,
) -> Result<HttpResponse, Failure> {
    let webhook = serde_json::from_value::<Webhook>(webhook).ok().filter(|webhook| !webhook.id.is_empty());
    let webhook = webhook.ok_or_else(|| unexpected(service))?;
    let new = NewSecret {
        title: "Secret of the webhook".to_owned(),
        on: hook_path(service, &webhook.id),
        of: webhook.url,
        secret: webhook.secret,
        is_account: false,
    };
    new.show(console, user)
}

pub(super) async fn edit_form(
    console: Data<Console>,
    user: User,
    path: Path<HookPath>,
) -> Result<HttpResponse, Failure> {
    let service = service_of(&path.service)?;
    only(user.person.may_write())?;
    let caller = user.caller(&console.api);
    let webhook = caller.get::<Webhook>(service, &api_path(&path.id), &[]).await?.value;
    Ok(show_form(&user, service, Some(&webhook), &initial(&webhook), &[], StatusCode::OK))
}

/// Returns what the fields of a webhook contain at first.
fn initial(webhook: &Webhook) -> Fields {
    let mut fields = vec![("url".to_owned(), webhook.url.clone())];
    fields.extend(webhook.description.clone().map(|text| ("description".to_owned(), text)));
    fields.extend(webhook.events.iter().map(|event| ("events".to_owned(), event.clone())));
    if webhook.scope == "all" {
        fields.push(("all".to_owned(), "yes".to_owned()));
    }
    Fields(fields)
}

/// The fields of a webhook, each with the member of the API that it becomes.
const FIELDS: [(&str, &str); 4] =
    [("url", "url"), ("description", "description"), ("events", "events"), ("all", "scope")];

/// Returns true if a field says the same; the order of events has no meaning.
fn is_same(one: &Fields, other: &Fields, name: &str) -> bool {
    let sorted = |fields: &Fields| {
        let texts = fields.all(name).into_iter().map(|text| text.trim().to_owned());
        let mut texts: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
        texts.sort_unstable();
        texts
    };
    sorted(one) == sorted(other)
}

/// Returns what a form changes.
fn changes(fields: &Fields, was: &Fields, user: &User) -> Value {
    let mut body = form_body(fields, user);
    if let Value::Object(members) = &mut body {
        for (_, member) in FIELDS.iter().filter(|(name, _)| is_same(fields, was, name)) {
            members.remove(*member);
        }
    }
    body
}

pub(super) async fn save(
    console: Data<Console>,
    form: PostForm,
    path: Path<HookPath>,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let service = service_of(&path.service)?;
    let caller = user.caller(&console.api);
    let (own, place) = (api_path(&path.id), hook_path(service, &path.id));
    let saved = see_other(&with_query(&place, &[("done", "saved")]));
    let was = Fields::parse(fields.get("was").as_bytes());
    let body = changes(&fields, &was, &user);
    if body.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(saved);
    }
    let write = Write { key: None, revision: Some(fields.get("revision")) };
    match caller.send_json(service, Method::PATCH, &own, Some(&body), write).await {
        Ok(_) => Ok(saved),
        Err(CallError::Refused(refusal)) if refusal.status != 404 => {
            let now = caller.get::<Webhook>(service, &own, &[]).await;
            let now =
                now.map_err(|error| Failure::from(error).keeping(&format!("{place}/edit"), fields.clone()));
            let now = now?.value;
            let status = refusal.status_code();
            let errors = if status == StatusCode::PRECONDITION_FAILED {
                vec![FieldError::of_form("Somebody else changed it meanwhile. Check it, and save again.")]
            } else {
                errors_of(&refusal)
            };
            // What only others changed is taken over.
            let is_theirs =
                |name: &str| FIELDS.iter().any(|(own, _)| *own == name) && is_same(&fields, &was, name);
            let typed = fields.merged(&initial(&now), is_theirs);
            Ok(show_form(&user, service, Some(&now), &typed, &errors, status))
        }
        Err(error) => Err(Failure::from(error).keeping(&format!("{place}/edit"), fields)),
    }
}

#[derive(Deserialize)]
pub(super) struct HookActionPath {
    service: String,
    id: String,
    action: String,
}

/// Tests, replaces the secret, switches on or off, deletes, or delivers what failed again.
pub(super) async fn act(
    console: Data<Console>,
    form: PostForm,
    path: Path<HookActionPath>,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let HookActionPath { service: name, id, action } = path.into_inner();
    let service = service_of(&name)?;
    let caller = user.caller(&console.api);
    let (own, place) = (api_path(&id), hook_path(service, &id));
    if !["test", "rotate", "enable", "disable", "delete", "redeliver"].contains(&action.as_str()) {
        return Err(Failure::NotFound);
    }
    let (since, off) = (parse_date(fields.get("since")), fields.get("off").to_owned());
    if action == "redeliver" && since.is_none() {
        let errors = [FieldError::of_form("The day is not a date: write it as 10 Dec 2026.")];
        let path = HookPath { service: name, id };
        return show(&console, &user, &path, &Fields::default(), &errors, StatusCode::BAD_REQUEST).await;
    }
    let (method, path, body) = match action.as_str() {
        "test" => {
            let event = Some(fields.get("event")).filter(|event| !event.is_empty());
            (
                Method::POST,
                format!("{own}/test"),
                event.map_or_else(|| json!({}), |event| json!({"event": event})),
            )
        }
        "rotate" => (Method::POST, format!("{own}/rotate-secret"), json!({})),
        "enable" => (Method::PATCH, own, json!({"status": "active"})),
        "disable" => (Method::PATCH, own, json!({"status": "disabled"})),
        "delete" => (Method::DELETE, own, Value::Null),
        _ => {
            let since = since.map(|day| console.clock.from(day));
            (Method::POST, format!("{own}/deliveries/redeliver"), json!({"sinceUTC": since}))
        }
    };
    let key = Some(fields.get("key")).filter(|key| method == Method::POST && !key.is_empty());
    let body = Some(&body).filter(|body| !body.is_null());
    let revision = Some(fields.get("revision")).filter(|own| method == Method::PATCH && !own.is_empty());
    let sent = caller.send_json(service, method, &path, body, Write { key, revision }).await;
    let answer = match sent {
        Ok(answer) => answer,
        Err(CallError::Refused(refusal)) if refusal.status != 404 => {
            let path = HookPath { service: name, id };
            let (errors, status) = (errors_of(&refusal), refusal.status_code());
            return show(&console, &user, &path, &Fields::default(), &errors, status).await;
        }
        Err(error) => return Err(Failure::from(error).keeping(&format!("{place}/{action}"), fields)),
    };
    let done = |done: &str| see_other(&with_query(&place, &[("done", done)]));
    Ok(match action.as_str() {
        "test" => {
            let delivery = answer["id"].as_str().ok_or_else(|| unexpected(service))?;
            await_try(&caller, service, &id, delivery, None).await;
            see_other(&delivery_path(service, &id, delivery))
        }
        "rotate" => show_secret(&console, &user, service, answer)?,
        "enable" => see_other(&with_query(&place, &[("done", "enabled"), ("off", &off)])),
        "disable" => done("disabled"),
        "delete" => see_other("/connections?done=deleted"),
        _ => {
            let count = answer["count"].as_u64().ok_or_else(|| unexpected(service))?.to_string();
            let more = answer["more"].as_bool().unwrap_or_default();
            let parameters = [("done", "redelivered"), ("count", &*count), ("more", "yes")];
            see_other(&with_query(&place, &parameters[..if more { 3 } else { 2 }]))
        }
    })
}

fn delivery_path(service: Service, id: &str, delivery: &str) -> String {
    format!("{}/deliveries/{}", hook_path(service, id), segment(delivery))
}

/// Waits until a delivery was tried after `before`, so that its page shows the outcome.
async fn await_try(caller: &Caller<'_>, service: Service, id: &str, delivery: &str, before: Option<&str>) {
    for _ in 0..TEST_POLLS {
        let last = last_try(caller, service, id, delivery).await;
        if last.is_some_and(|last| before.is_none_or(|before| last.as_str() > before)) {
            return;
        }
        tokio::time::sleep(TEST_PAUSE).await;
    }
}

/// Returns when a delivery was tried last.
async fn last_try(caller: &Caller<'_>, service: Service, id: &str, delivery: &str) -> Option<String> {
    let path = format!("{}/deliveries/{}", api_path(id), segment(delivery));
    let found = caller.get::<Delivery>(service, &path, &[]).await.ok()?.value;
    found.tries.into_iter().map(|attempt| attempt.at).max()
}

#[derive(Deserialize)]
pub(super) struct DeliveryPath {
    service: String,
    id: String,
    delivery: String,
}

/// Shows a delivery with its attempts and its body.
pub(super) async fn delivery(
    console: Data<Console>,
    user: User,
    path: Path<DeliveryPath>,
) -> Result<HttpResponse, Failure> {
    show_delivery(&console, &user, &path, &[], StatusCode::OK).await
}

async fn show_delivery(
    console: &Console,
    user: &User,
    path: &DeliveryPath,
    errors: &[FieldError],
    status: StatusCode,
) -> Result<HttpResponse, Failure> {
    let service = service_of(&path.service)?;
    let caller = user.caller(&console.api);
    let own = api_path(&path.id);
    let operation = format!("{own}/deliveries/{}", segment(&path.delivery));
    let (webhook, delivery) = futures_util::join!(
        caller.get::<Webhook>(service, &own, &[]),
        caller.get::<Delivery>(service, &operation, &[]),
    );
    let (webhook, delivery) = (webhook?.value, delivery?.value);
    let view = DeliveryView {
        user,
        clock: console.clock,
        service,
        webhook: &webhook,
        delivery: &delivery,
        errors,
        key: &new_key(),
    };
    Ok(html_with(status, &document(user, Section::Connections, "Delivery", &view.markup())))
}

/// Delivers an event again.
pub(super) async fn redeliver(
    console: Data<Console>,
    form: PostForm,
    path: Path<DeliveryPath>,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let service = service_of(&path.service)?;
    let caller = user.caller(&console.api);
    let operation = format!("{}/deliveries/{}/redeliver", api_path(&path.id), segment(&path.delivery));
    let place = delivery_path(service, &path.id, &path.delivery);
    let write = Write { key: Some(fields.get("key")), revision: None };
    let before = last_try(&caller, service, &path.id, &path.delivery).await;
    match caller.send_json(service, Method::POST, &operation, None, write).await {
        Ok(_) => {
            await_try(&caller, service, &path.id, &path.delivery, before.as_deref()).await;
            Ok(see_other(&place))
        }
        Err(CallError::Refused(refusal)) if ![403, 404].contains(&refusal.status) => {
            show_delivery(&console, &user, &path, &errors_of(&refusal), refusal.status_code()).await
        }
        Err(error) => Err(Failure::from(error).keeping(&format!("{place}/redeliver"), fields)),
    }
}
