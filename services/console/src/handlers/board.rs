//! The board: the loads of a day or a week by haulier or driver, and assigning them.

use actix_web::http::StatusCode;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::extract::PostForm;
use super::load::{find_load, load_path};
use super::loads::{find_drivers, find_organisations};
use super::{html, html_with, new_key, see_other};
use crate::Console;
use crate::api::model::Load;
use crate::api::{CallError, Caller, Service, Write, segment, with_query};
use crate::fields::Fields;
use crate::loads::{BoardQuery, By};
use crate::user::{Failure, User};
use crate::views::board::{BoardView, Column};
use crate::views::messages::sentence;
use crate::views::sheet::DaySheet;
use crate::views::{Section, page as document};

/// The most loads of a board.
const MAX_LOADS: usize = 300;
/// The most drivers whose loads are looked up.
const MAX_DRIVERS: usize = 30;
/// The most columns without loads.
const MAX_EMPTY: usize = 8;

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let fields = Fields::parse(request.query_string().as_bytes());
    show(&console, &user, &fields, None).await
}

async fn show(
    console: &Console,
    user: &User,
    fields: &Fields,
    error: Option<&str>,
) -> Result<HttpResponse, Failure> {
    let clock = console.clock;
    let query = BoardQuery::parse(fields, clock);
    let caller = user.caller(&console.api);
    let dates = query.dates(clock);
    let of_driver = [("f:driverId", "me".to_owned())];
    let filters: Vec<_> =
        if user.is_driver() { dates.iter().chain(&of_driver).cloned().collect() } else { dates.to_vec() };
    let (found, organisations, drivers) = futures_util::join!(
        find_loads(&caller, &filters),
        find_organisations(&caller, user.is_driver()),
        find_drivers(&caller, user.person.organisation_id.is_some()),
    );
    let mut missing = Vec::new();
    let mut status = if error.is_some() { StatusCode::CONFLICT } else { StatusCode::OK };
    let (mut loads, is_complete) = match found {
        Ok(found) => found,
        Err(CallError::LoggedOut) => return Err(CallError::LoggedOut.into()),
        Err(_) => {
            missing.push("The service with loads is away at the moment. Try again in a minute.".to_owned());
            status = StatusCode::SERVICE_UNAVAILABLE;
            (Vec::new(), true)
        }
    };
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
            (by_driver(&caller, &loads, &drivers, &dates).await, drivers)
        }
    };
    let view = BoardView {
        user,
        clock,
        query: &query,
        by,
        columns: &columns,
        known: &known,
        may_write: !user.is_driver() && !user.person.is_viewer && !user.person.is_weigher,
        is_complete,
        missing: &missing,
        done: fields.find("done"),
        error,
        key: &new_key(),
    };
    Ok(html_with(status, &document(user, Section::Board, "Board", &view.markup())))
}

/// Reads the loads of the days in their order. Returns whether these are all.
async fn find_loads(
    caller: &Caller<'_>,
    filters: &[(&'static str, String)],
) -> Result<(Vec<Load>, bool), CallError> {
    let (mut loads, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let mut query: Vec<_> = filters.iter().map(|(name, value)| (*name, value.as_str())).collect();
        query.extend([("sortBy", "deliveryDateISO"), ("limit", "100")]);
        query.extend(cursor.iter().map(|cursor| ("cursor", cursor.as_str())));
        let page = caller.get::<Vec<Load>>(Service::Logistics, "/v1/loads", &query).await?;
        loads.extend(page.value);
        cursor = page.next;
        if cursor.is_none() || loads.len() >= MAX_LOADS {
            return Ok((loads, cursor.is_none()));
        }
    }
}

/// Returns a column for what has no haulier, for each haulier with loads, and for some without.
fn by_haulier(loads: &[Load], known: &[(String, String)]) -> Vec<Column> {
    let mut columns = vec![Column::unassigned()];
    for load in loads {
        let (id, name) = match &load.carrier {
            Some(carrier) => (carrier.id.clone().unwrap_or_default(), carrier.name.clone()),
            None => (String::new(), String::new()),
        };
        let index =
            columns.iter().position(|column| column.id == id && (!id.is_empty() || column.name == name));
        let index = index.unwrap_or_else(|| {
            columns.push(Column { id, name, loads: Vec::new() });
            columns.len() - 1
        });
        columns[index].loads.push(load.clone());
    }
    columns[1..].sort_by_key(|column| column.name.to_lowercase());
    add_empty(&mut columns, known);
    columns
}

/// Returns a column for what has no driver, for each driver with loads, and for some without.
async fn by_driver(
    caller: &Caller<'_>,
    loads: &[Load],
    known: &[(String, String)],
    dates: &[(&'static str, String)],
) -> Vec<Column> {
    let sent = known.iter().take(MAX_DRIVERS).map(|(id, name)| async move {
        let filters: Vec<_> = dates.iter().cloned().chain([("f:driverId", id.clone())]).collect();
        let ids: Vec<String> = find_loads(caller, &filters)
            .await
            .map(|(loads, _)| loads.into_iter().map(|load| load.id).collect())
            .unwrap_or_default();
        let own = loads.iter().filter(|load| ids.contains(&load.id)).cloned().collect();
        Column { id: id.clone(), name: name.clone(), loads: own }
    });
    let mut columns: Vec<Column> = join_all(sent).await;
    let is_sent = |load: &Load| columns.iter().any(|column| column.loads.iter().any(|own| own.id == load.id));
    let unassigned = loads.iter().filter(|load| !is_sent(load)).cloned().collect();
    columns.retain(|column| !column.loads.is_empty());
    columns.insert(0, Column { loads: unassigned, ..Column::unassigned() });
    add_empty(&mut columns, known);
    columns
}

/// Adds columns to which loads can be dragged.
fn add_empty(columns: &mut Vec<Column>, known: &[(String, String)]) {
    let empty: Vec<_> = known
        .iter()
        .filter(|(id, _)| !columns.iter().any(|column| column.id == *id))
        .take(MAX_EMPTY)
        .map(|(id, name)| Column { id: id.clone(), name: name.clone(), loads: Vec::new() })
        .collect();
    columns.extend(empty);
}

/// Assigns a load to a haulier or driver.
pub(super) async fn assign(console: Data<Console>, form: PostForm) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let board = Fields::parse(fields.get("board").as_bytes());
    let caller = user.caller(&console.api);
    let is_removal = !fields.get("remove").is_empty();
    if fields.get("to").is_empty() && !is_removal {
        return show(&console, &user, &board, Some("Name whom to send the load to.")).await;
    }
    let done = if fields.get("by") == "driver" {
        to_driver(&caller, &fields).await
    } else {
        to_haulier(&caller, &fields).await
    };
    match done {
        Ok(reference) => {
            let query = board.0.iter().filter(|(name, _)| ["day", "week", "by"].contains(&name.as_str()));
            let query = query.map(|(name, value)| (name.as_str(), value.as_str()));
            let query: Vec<_> = query.chain([("done", reference.as_str())]).collect();
            Ok(see_other(&with_query("/board", &query)))
        }
        Err(CallError::Refused(refusal)) => {
            let reason = refusal.validation.first();
            let reason =
                reason.map_or_else(|| sentence(&refusal), |error| format!("The id {}.", error.message));
            show(&console, &user, &board, Some(&reason)).await
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

/// Shows the day or week of one haulier or driver, to print.
pub(super) async fn sheet(
    console: Data<Console>,
    user: User,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let fields = Fields::parse(request.query_string().as_bytes());
    let query = BoardQuery::parse(&fields, console.clock);
    let whose = match (fields.find("haulier"), fields.find("driver")) {
        (Some(id), _) => ("f:carrierId", id.to_owned()),
        (None, Some(id)) => ("f:driverId", id.to_owned()),
        (None, None) => return Err(Failure::NotFound),
    };
    let caller = user.caller(&console.api);
    let filters: Vec<_> = query.dates(console.clock).into_iter().chain([whose.clone()]).collect();
    let (loads, names) = futures_util::join!(find_loads(&caller, &filters), async {
        if whose.0 == "f:carrierId" {
            find_organisations(&caller, user.is_driver()).await
        } else {
            find_drivers(&caller, user.person.organisation_id.is_some()).await
        }
    });
    let (loads, _) = loads?;
    let name = names.iter().find(|(id, _)| *id == whose.1).map_or(&whose.1, |(_, name)| name);
    let page = DaySheet {
        whose: name,
        days: &query.title(console.clock),
        loads: &loads,
        clock: console.clock,
        back: &query.path(None, query.first),
    };
    Ok(html(&document(&user, Section::Board, name, &page.markup())))
}
