//! The board: the loads of a day or a week by haulier or driver, and assigning them.

use std::collections::HashSet;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Data;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::address_book::{find_organisations, list_drivers, with_ids};
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
/// The most drivers whose loads are looked up.
const MAX_DRIVERS: usize = 30;
/// The most columns without loads.
const MAX_EMPTY: usize = 8;
/// Why it is not known which of the loads of a column have a driver.
const UNKNOWN: &str = "Not every driver could be looked up. Open a load to see whether it has one.";

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
    let mut filters = dates.to_vec();
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
            (by_haulier(&loads, &others), others)
        }
        By::Driver => {
            loads.retain(carries);
            let drivers = optional(list_drivers(&caller, None).await, &mut missing)?;
            let are_all = drivers.as_ref().is_some_and(|drivers| drivers.next.is_none());
            let drivers = drivers.map(|drivers| drivers.value).unwrap_or_default();
            (by_driver(&caller, &loads, (&drivers, are_all), &dates).await?, drivers)
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

/// Returns a column for what has no haulier, for each haulier with loads, and for some without.
fn by_haulier(loads: &[Load], known: &[(String, String)]) -> Vec<Column> {
    let mut columns = vec![Column::default()];
    for load in loads {
        let (id, name) = match &load.carrier {
            Some(carrier) => (carrier.id.clone().unwrap_or_default(), carrier.name.clone()),
            None => (String::new(), String::new()),
        };
        let index =
            columns.iter().position(|column| column.id == id && (!id.is_empty() || column.name == name));
        let index = index.unwrap_or_else(|| {
            columns.push(Column { id, name, ..Column::default() });
            columns.len() - 1
        });
        columns[index].loads.push(load.clone());
    }
    columns[1..].sort_by_key(|column| column.name.to_lowercase());
    part_done(&mut columns, "Done without a haulier");
    add_empty(&mut columns, known);
    columns
}

/// Moves what is done already from the first column, of what is not assigned, to one of its own.
fn part_done(columns: &mut Vec<Column>, name: &str) {
    let is_done = |load: &Load| !["upcoming", "collected"].contains(&load.status.as_str());
    let (done, open): (Vec<_>, Vec<_>) = std::mem::take(&mut columns[0].loads).into_iter().partition(is_done);
    columns[0].loads = open;
    if !done.is_empty() {
        columns.push(Column::apart(name, "", done));
    }
}

/// Returns a column for what has no driver, for what may have one, for each driver with loads, and for some without.
/// `are_all`: whether these are all drivers of the address book.
async fn by_driver(
    caller: &Caller<'_>,
    loads: &[Load],
    (drivers, are_all): (&[(String, String)], bool),
    dates: &[(&'static str, String)],
) -> Result<Vec<Column>, CallError> {
    let sent = drivers.iter().take(MAX_DRIVERS).map(|(id, _)| async move {
        let filters: Vec<_> = dates.iter().cloned().chain([("f:driverId", id.clone())]).collect();
        find_loads(caller, &filters).await
    });
    let mut is_certain = are_all && drivers.len() <= MAX_DRIVERS;
    let (mut columns, mut without) = (Vec::new(), Vec::new());
    for (driver, sent) in drivers.iter().zip(join_all(sent).await) {
        let sent = match sent {
            Ok(sent) => sent,
            Err(CallError::LoggedOut) => return Err(CallError::LoggedOut),
            Err(_) => {
                is_certain = false;
                continue;
            }
        };
        is_certain &= sent.next.is_none();
        let ids: HashSet<&str> = sent.value.iter().map(|load| load.id.as_str()).collect();
        let own: Vec<Load> = loads.iter().filter(|load| ids.contains(load.id.as_str())).cloned().collect();
        if own.is_empty() {
            without.push(driver.clone());
        } else {
            columns.push(Column { id: driver.0.clone(), name: driver.1.clone(), loads: own, note: "" });
        }
    }
    let is_sent = |load: &Load| columns.iter().any(|column| column.loads.iter().any(|own| own.id == load.id));
    let others: Vec<Load> = loads.iter().filter(|load| !is_sent(load)).cloned().collect();
    // Unless every driver was looked up, a load that seems to have none may have one.
    let (unassigned, unknown) = if is_certain { (others, Vec::new()) } else { (Vec::new(), others) };
    if !unknown.is_empty() {
        columns.insert(0, Column::apart("Driver not known", UNKNOWN, unknown));
    }
    columns.insert(0, Column { loads: unassigned, ..Column::default() });
    part_done(&mut columns, "Done without a driver");
    add_empty(&mut columns, &without);
    Ok(columns)
}

/// Adds columns to which loads can be dragged.
fn add_empty(columns: &mut Vec<Column>, known: &[(String, String)]) {
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
