//! The list of loads and its exports.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;

use super::events::find_position;
use super::files::download;
use super::{html_with, optional};
use crate::Console;
use crate::api::model::{KnownDriver, Load, Named, Party, Summary};
use crate::api::{CallError, Caller, Reply, Service};
use crate::loads::ListQuery;
use crate::user::{Failure, User};
use crate::views::loads::ListView;
use crate::views::messages::sentence;
use crate::views::{Section, page as document};

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let query = ListQuery::parse(request.query_string());
    let caller = user.caller(&console.api);
    let is_driver = user.is_driver();
    let (page, filters) = (query.page(is_driver, console.clock), query.parameters(is_driver, console.clock));
    let (page, filters) = (borrowed(&page), borrowed(&filters));
    let (loads, summary, commodities, organisations, position) = futures_util::join!(
        caller.get::<Vec<Load>>(Service::Logistics, "/v1/loads", &page),
        caller.get::<Summary>(Service::Logistics, "/v1/loads/summary", &filters),
        caller.get::<Vec<Named>>(Service::Logistics, "/v1/commodities", &[]),
        find_organisations(&caller, is_driver),
        find_position(&caller),
    );
    let mut missing = Vec::new();
    let mut status = if loads.is_ok() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    // A filter that the API refuses is said in its own words.
    if let Err(CallError::Refused(refusal)) = &loads {
        missing.push(sentence(refusal));
        status = refusal.status_code();
    }
    let loads = optional(loads, &mut missing)?;
    let summary = optional(summary, &mut missing)?;
    let commodities = optional(commodities, &mut missing)?.map(|reply| reply.value).unwrap_or_default();
    let view = ListView {
        user: &user,
        clock: console.clock,
        query: &query,
        loads: loads.as_ref().map(|reply| reply.value.as_slice()),
        next: loads.as_ref().and_then(|reply| reply.next.as_deref()),
        summary: summary.as_ref().map(|reply| &reply.value),
        commodities: &commodities,
        organisations: &organisations,
        missing: &missing,
        position: position.as_ref(),
        may_write: !is_driver && user.person.may_write(),
    };
    Ok(html_with(status, &document(&user, Section::Loads, "Loads", &view.markup())))
}

#[derive(Deserialize)]
pub(super) struct ExportPath {
    format: String,
}

pub(super) async fn export(
    console: Data<Console>,
    user: User,
    request: HttpRequest,
    path: Path<ExportPath>,
) -> Result<HttpResponse, Failure> {
    let query = ListQuery::parse(request.query_string());
    let mut parameters = query.parameters(user.is_driver(), console.clock);
    parameters.extend(query.order());
    match path.format.as_str() {
        "xlsx" => parameters.push(("format", "XLSX".to_owned())),
        // Excel needs the byte order mark to read accents correctly.
        "csv" => parameters.extend([("format", "CSV".to_owned()), ("bom", "true".to_owned())]),
        _ => return Err(Failure::NotFound),
    }
    let place = (Service::Logistics, "/v1/loads");
    download(&console, &user, &request, place, &borrowed(&parameters)).await
}

pub(super) fn borrowed<'a>(parameters: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    parameters.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

/// Returns the ids and names of organisations in the address book; none for people who have none.
pub(super) async fn find_organisations(caller: &Caller<'_>, is_driver: bool) -> Vec<(String, String)> {
    if is_driver {
        return Vec::new();
    }
    let found = caller.get::<Vec<Party>>(Service::Logistics, "/v1/organisations", &[("limit", "100")]).await;
    let found = found.map(|reply| reply.value).unwrap_or_default();
    found.into_iter().filter_map(|party| Some((party.id?, party.name))).collect()
}

/// Returns the ids and names of drivers in the address book, if they are wanted.
pub(super) async fn find_drivers(caller: &Caller<'_>, are_wanted: bool) -> Vec<(String, String)> {
    if !are_wanted {
        return Vec::new();
    }
    list_drivers(caller).await.map(|reply| reply.value).unwrap_or_default()
}

/// Returns the ids and names of drivers in the address book. There is a next page if there are more.
pub(super) async fn list_drivers(caller: &Caller<'_>) -> Result<Reply<Vec<(String, String)>>, CallError> {
    let found =
        caller.get::<Vec<KnownDriver>>(Service::Logistics, "/v1/drivers", &[("limit", "100")]).await?;
    let named = |driver: KnownDriver| {
        let name = driver.name.unwrap_or_else(|| driver.driver_id.clone());
        (driver.driver_id, name)
    };
    let value = found.value.into_iter().map(named).collect();
    Ok(Reply { value, total: found.total, next: found.next })
}
