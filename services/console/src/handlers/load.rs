//! The page of a load.

use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use reqwest::Method;

use super::address_book::find_drivers;
use super::events::find_position;
use super::extract::PostForm;
use super::files::resolve;
use super::loads::borrowed;
use super::{html, new_key, optional, see_other};
use crate::Console;
use crate::api::model::{Driver, Event, FileInfo, Load, Notification};
use crate::api::{CallError, Caller, Reply, Service, Write, segment, with_query};
use crate::fields::Fields;
use crate::loads::{Action, LIST, ListQuery, offered, warning_sentence};
use crate::user::{Failure, User};
use crate::views::load::{LoadView, file_ids};
use crate::views::{Section, page as document};

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
    let list = ListQuery::parse(parameters.get(LIST));
    let path = load_path(&id);
    let (events_path, drivers_path) = (format!("{path}/events"), format!("{path}/drivers"));
    let notifications_path = format!("{path}/notifications");
    let (load, events, drivers, notifications, names, position, neighbours) = futures_util::join!(
        caller.get::<Load>(Service::Logistics, &path, &[]),
        find_events(&caller, &events_path),
        caller.get::<Vec<Driver>>(Service::Logistics, &drivers_path, &[]),
        caller.get::<Vec<Notification>>(Service::Logistics, &notifications_path, &[]),
        find_drivers(&caller, user.person.organisation_id.is_some()),
        find_position(&caller),
        async {
            // Only somebody who comes from a list goes on in it.
            match parameters.find(LIST) {
                Some(_) => {
                    let page = |list: &ListQuery| list.page(user.is_driver(), console.clock);
                    neighbours(&caller, &id, &list, page).await.unwrap_or_default()
                }
                None => None,
            }
        },
    );
    let load = load?.value;
    // A load that has left the list keeps those that it was between.
    let list = neighbours.map_or_else(|| list.clone(), |places| list.beside(places));
    let mut missing = Vec::new();
    let (events, drivers) = (optional(events, &mut missing)?, optional(drivers, &mut missing)?);
    let notifications = optional(notifications, &mut missing)?;
    let events = match events {
        Some(reply) => reply.value,
        // A driver and a former party read notes only.
        None => find_notes(&caller, &events_path).await,
    };
    let files = find_files(&caller, &load, &mut missing).await?;
    let is_accepted = events.iter().any(|event| event.kind == "accepted");
    let view = LoadView {
        user: &user,
        load: &load,
        clock: console.clock,
        events: &events,
        drivers: drivers.as_ref().map(|reply| reply.value.as_slice()),
        notifications: notifications.as_ref().map(|reply| reply.value.as_slice()),
        names: &names,
        files: &files,
        actions: &offered(&load, &user.person, is_accepted),
        list: &list,
        missing: &missing,
        position: position.as_ref(),
        done: match parameters.get("done") {
            "new" => Some("The load is created."),
            "redelivered" => Some("The notification is delivered again."),
            slug => Action::of_slug(slug).map(done),
        },
        can_undo: ["cancel", "prove", "reject"].contains(&parameters.get("done")),
        key: &new_key(),
        warnings: &parameters.all("warning").into_iter().filter_map(warning_sentence).collect::<Vec<_>>(),
        may_copy: user.person.organisation_id.is_some() && user.person.may_write(),
    };
    Ok(html(&document(&user, Section::Loads, &load.reference, &view.markup())))
}

pub(super) async fn find_load(caller: &Caller<'_>, id: &str) -> Result<Load, CallError> {
    Ok(caller.get(Service::Logistics, &load_path(id), &[]).await?.value)
}

pub(super) fn load_path(id: &str) -> String {
    let id: String = id.chars().take(MAX_ID_CHARS).collect();
    format!("/v1/loads/{}", segment(&id))
}

/// Delivers a notification of a load again.
pub(super) async fn redeliver(
    console: Data<Console>,
    form: PostForm,
    path: Path<(String, String)>,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let (id, notification) = path.into_inner();
    let operation = format!("/notifications/{}/redeliver", segment(&notification));
    let write = Write { key: Some(fields.get("key")), revision: None };
    let (caller, path) = (user.caller(&console.api), format!("{}{operation}", load_path(&id)));
    let sent = caller.send_json(Service::Logistics, Method::POST, &path, None, write).await;
    let place = format!("/loads/{}", segment(&id));
    sent.map_err(|error| Failure::from(error).keeping(&format!("{place}{operation}"), fields.clone()))?;
    Ok(see_other(
        &ListQuery::parse(fields.get(LIST)).kept_by(&with_query(&place, &[("done", "redelivered")])),
    ))
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
pub(super) async fn find_files(
    caller: &Caller<'_>,
    load: &Load,
    missing: &mut Vec<String>,
) -> Result<Vec<FileInfo>, Failure> {
    resolve(caller, &file_ids(load), missing).await
}

/// Returns the places of the loads before and after this one in a page of a list, if it is in it. The last one of a
/// page is followed by the first one of the next page.
async fn neighbours(
    caller: &Caller<'_>,
    id: &str,
    list: &ListQuery,
    page: impl Fn(&ListQuery) -> Vec<(&'static str, String)>,
) -> Result<Option<[Option<String>; 2]>, CallError> {
    let find = async |list: &ListQuery| {
        caller.get::<Vec<Load>>(Service::Logistics, "/v1/loads", &borrowed(&page(list))).await
    };
    let Reply { value: listed, next, .. } = find(list).await?;
    let Some(index) = listed.iter().position(|load| load.id == id) else { return Ok(None) };
    let before = match index.checked_sub(1).and_then(|index| listed.get(index)) {
        Some(load) => Some(list.place(&load.id)),
        None => list.before().last().map(ToString::to_string),
    };
    let after = match (listed.get(index + 1), next) {
        (Some(load), _) => Some(list.place(&load.id)),
        (None, Some(cursor)) => {
            let next = list.after(&cursor, id);
            find(&next).await?.value.first().map(|load| next.place(&load.id))
        }
        (None, None) => None,
    };
    Ok(Some([before, after]))
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
        Action::AddFiles => "The files are added.",
    }
}
