//! The board: the loads of a day or a week by haulier or driver, and assigning them.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Data;
use reqwest::Method;
use serde_json::{Value, json};

use super::address_book::{Entry, find_organisations, list_drivers, with_ids};
use super::extract::{Parameters, PostForm};
use super::load::{find_load, load_path};
use super::loads::borrowed;
use super::{errors_of, html_with, new_key, optional, see_other};
use crate::Console;
use crate::api::model::Load;
use crate::api::{CallError, Caller, FieldError, Reply, Service, Write, segment, with_query};
use crate::fields::Fields;
use crate::loads::{BoardQuery, By, Kind};
use crate::user::{Failure, User};
use crate::views::board::{BoardView, Column};
use crate::views::{Section, page as document};

/// The most loads of a board.
const MAX_LOADS: usize = 300;
/// The most columns without loads.
const MAX_EMPTY: usize = 8;

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    Parameters(fields): Parameters,
) -> Result<HttpResponse, Failure> {
    show(&console, &user, &fields, (StatusCode::OK, &[], &Fields::default())).await
}

/// Shows the board, perhaps with what is wrong with an assignment and what was typed for it.
async fn show(
    console: &Console,
    user: &User,
    fields: &Fields,
    (mut status, errors, typed): (StatusCode, &[FieldError], &Fields),
) -> Result<HttpResponse, Failure> {
    let clock = console.clock;
    let query = BoardQuery::parse(fields, clock);
    let caller = user.caller(&console.api);
    let dates = query.dates(clock);
    let mut filters = [dates.as_slice(), &[("include", "driverIds".to_owned())]].concat();
    if user.is_driver() {
        filters.push(("f:driverId", "me".to_owned()));
    }
    let (found, organisations) =
        futures_util::join!(find_loads(&caller, &filters), find_organisations(&caller, user.is_driver()));
    if let Err(refused @ CallError::Refused(_)) = found {
        return Err(refused.into());
    }
    let mut missing = Vec::new();
    let found = optional(found, &mut missing)?;
    if found.is_none() {
        status = StatusCode::SERVICE_UNAVAILABLE;
    }
    let is_complete = found.as_ref().is_none_or(|found| found.next.is_none());
    let mut loads = found.map(|found| found.value).unwrap_or_default();
    let carries = |load: &Load| {
        load.carrier.as_ref().is_some_and(|carrier| user.person.acts_for(carrier.id.as_deref()))
    };
    let is_haulier = loads.iter().filter(|load| carries(load)).count() * 2 > loads.len();
    let by = query.by.unwrap_or(if is_haulier { By::Driver } else { By::Haulier });
    let (columns, known) = match by {
        By::Haulier => {
            // The own organisation organises: it is no haulier to send loads to, unless it has some.
            let mut others = organisations;
            others.retain(|(id, _)| !user.person.acts_for(Some(id)));
            let find = |load: &Load| {
                let haulier = load.carrier.iter();
                haulier.map(|party| (party.id.clone().unwrap_or_default(), party.name.clone())).collect()
            };
            (columns(&loads, find, "Done without a haulier", &others), others)
        }
        By::Driver => {
            loads.retain(carries);
            let drivers = optional(list_drivers(&caller, None).await, &mut missing)?;
            let drivers = drivers.map(|drivers| drivers.value).unwrap_or_default();
            let find = |load: &Load| {
                let name = |id| drivers.iter().find(|(known, _)| known == id).map_or(id, |(_, name)| name);
                load.driver_ids.iter().map(|id| (id.clone(), name(id).clone())).collect()
            };
            (columns(&loads, find, "Done without a driver", &drivers), drivers)
        }
    };
    let done = fields.find("done").map(|load| format!("{load} is assigned."));
    let done = done.or(fields.find("removed").map(|load| format!("{load} is not assigned any more.")));
    let view = BoardView {
        user,
        clock,
        query: &query,
        by,
        columns: &columns,
        known: &known,
        may_write: !user.is_driver() && user.person.may_write(),
        is_complete,
        missing: &missing,
        done: done.as_deref(),
        errors,
        typed,
        key: &new_key(),
    };
    Ok(html_with(status, &document(user, Section::Board, "Board", &view.markup())))
}

/// Reads the loads of the days in their order. There is a next page if there are more than a board shows.
pub(super) async fn find_loads(
    caller: &Caller<'_>,
    filters: &[(&'static str, String)],
) -> Result<Reply<Vec<Load>>, CallError> {
    let mut loads = Reply { value: Vec::new(), total: None, next: None };
    loop {
        let mut query = borrowed(filters);
        query.extend([("sortBy", "deliveryDateISO"), ("limit", "100")]);
        query.extend(loads.next.iter().map(|cursor| ("cursor", cursor.as_str())));
        let page = caller.get::<Vec<Load>>(Service::Logistics, "/v1/loads", &query).await?;
        loads.value.extend(page.value);
        loads.next = page.next;
        if loads.next.is_none() || loads.value.len() >= MAX_LOADS {
            return Ok(loads);
        }
    }
}

/// Returns a column for what nobody has, for each haulier or driver with loads, for what is done without one, and for
/// some of those who are known and have no loads. `find` returns the ids and names of those who have a load. Hauliers
/// without an id differ by their names.
fn columns(loads: &[Load], find: impl Fn(&Load) -> Vec<Entry>, done: &str, known: &[Entry]) -> Vec<Column> {
    let mut columns = vec![Column::default()];
    for load in loads {
        let mut found = find(load);
        if found.is_empty() {
            found.push(Entry::default());
        }
        for (id, name) in found {
            let is_own = |column: &Column| column.id == id && (!id.is_empty() || column.name == name);
            match columns.iter_mut().find(|column| is_own(column)) {
                Some(column) => column.loads.push(load.clone()),
                None => columns.push(Column { id, name, loads: vec![load.clone()] }),
            }
        }
    }
    columns[1..].sort_by_key(|column| column.name.to_lowercase());
    part_done(&mut columns, done);
    add_empty(&mut columns, known);
    columns
}

/// Moves what is done already from the first column, of what is not assigned, to one of its own.
fn part_done(columns: &mut Vec<Column>, name: &str) {
    let is_done = |load: &Load| !["upcoming", "collected"].contains(&load.status.as_str());
    let (done, open): (Vec<_>, Vec<_>) = std::mem::take(&mut columns[0].loads).into_iter().partition(is_done);
    columns[0].loads = open;
    if !done.is_empty() {
        columns.push(Column { name: name.to_owned(), loads: done, ..Column::default() });
    }
}

/// Adds columns to which loads can be dragged.
fn add_empty(columns: &mut Vec<Column>, known: &[Entry]) {
    let empty: Vec<_> = known
        .iter()
        .filter(|(id, _)| !columns.iter().any(|column| column.id == *id))
        .take(MAX_EMPTY)
        .map(|(id, name)| Column { id: id.clone(), name: name.clone(), ..Column::default() })
        .collect();
    columns.extend(empty);
}

/// Assigns a load to a haulier or driver.
pub(super) async fn assign(console: Data<Console>, form: PostForm) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let board = Fields::parse(fields.get("board").as_bytes());
    let caller = user.caller(&console.api);
    let is_removal = !fields.get("remove").is_empty();
    if target(&fields).is_empty() && !is_removal {
        let errors = [FieldError::of_form("Name whom to send the load to.")];
        return show(&console, &user, &board, (StatusCode::BAD_REQUEST, &errors, &fields)).await;
    }
    let is_of_driver = fields.get("by") == "driver";
    let kind = if is_of_driver { Kind::Driver } else { Kind::Organisation };
    // Whoever is removed need not be named.
    let fields_to_name: &[_] = if is_removal { &[] } else { &[("to", kind)] };
    let done = async {
        let named = match with_ids(&caller, &fields, fields_to_name).await? {
            Ok(named) => named,
            Err(errors) => return Ok(Err(errors)),
        };
        let done =
            if is_of_driver { to_driver(&caller, &named).await } else { to_haulier(&caller, &named).await };
        done.map(Ok)
    };
    let done = match done.await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(errors)) => {
            return show(&console, &user, &board, (StatusCode::BAD_REQUEST, &errors, &fields)).await;
        }
        Err(error) => Err(error),
    };
    match done {
        Ok(reference) => {
            let query = board.0.iter().filter(|(name, _)| ["day", "week", "by"].contains(&name.as_str()));
            let query = query.map(|(name, value)| (name.as_str(), value.as_str()));
            let done = if is_removal { "removed" } else { "done" };
            let query: Vec<_> = query.chain([(done, reference.as_str())]).collect();
            Ok(see_other(&with_query("/board", &query)))
        }
        Err(CallError::Refused(refusal)) => {
            show(&console, &user, &board, (refusal.status_code(), &errors_of(&refusal), &fields)).await
        }
        Err(error) => Err(Failure::from(error).keeping("/board/assign", fields)),
    }
}

/// Returns whom a load goes to; nobody if the haulier or driver is removed.
fn target(fields: &Fields) -> &str {
    if fields.get("remove").is_empty() { fields.get("to") } else { "" }
}

/// Sends a load to a haulier, or replaces its haulier. Returns its reference.
async fn to_haulier(caller: &Caller<'_>, fields: &Fields) -> Result<String, CallError> {
    let (id, to) = (fields.get("id"), target(fields));
    let load = find_load(caller, id).await?;
    let carrier = load.carrier.as_ref().and_then(|carrier| carrier.id.as_deref()).unwrap_or_default();
    if carrier == to {
        return Ok(load.reference);
    }
    if load.carrier.is_none() {
        let write = Write { key: Some(fields.get("key")), revision: None };
        let body = json!({"loadId": id, "carrierId": to});
        let path = "/v1/loads/send-to-carrier";
        caller.send_json(Service::Logistics, Method::POST, path, Some(&body), write).await?;
    } else {
        let to = if to.is_empty() { Value::Null } else { json!(to) };
        let write = Write { key: None, revision: Some(fields.get("revision")) };
        let (path, body) = (load_path(id), json!({"carrierId": to}));
        caller.send_json(Service::Logistics, Method::PATCH, &path, Some(&body), write).await?;
    }
    Ok(load.reference)
}

/// Sends a load to a driver, and revokes the one that had it in the column it comes from. Returns its reference.
async fn to_driver(caller: &Caller<'_>, fields: &Fields) -> Result<String, CallError> {
    let [id, from] = ["id", "from"].map(|name| fields.get(name));
    let to = target(fields);
    let load = find_load(caller, id).await?;
    if from == to {
        return Ok(load.reference);
    }
    if !to.is_empty() {
        let write = Write { key: Some(fields.get("key")), revision: None };
        let body = json!({"loadId": id, "driverId": to});
        let path = "/v1/loads/send-to-driver";
        caller.send_json(Service::Logistics, Method::POST, path, Some(&body), write).await?;
    }
    if !from.is_empty() {
        let path = format!("{}/drivers/{}", load_path(id), segment(from));
        caller.send_json(Service::Logistics, Method::DELETE, &path, None, Write::default()).await?;
    }
    Ok(load.reference)
}
