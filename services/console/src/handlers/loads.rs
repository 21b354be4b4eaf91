//! The list of loads and its exports.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;

use super::address_book::{find_organisations, with_ids_in_list};
use super::events::find_position;
use super::extract::PostForm;
use super::files::download;
use super::{SUMS, html_with, optional, sums_in_time};
use crate::Console;
use crate::api::model::{Load, Named, Summary};
use crate::api::{CallError, Refusal, Service, with_query};
use crate::fields::Fields;
use crate::loads::{LIST, ListQuery};
use crate::user::{Failure, User};
use crate::views::loads::ListView;
use crate::views::messages::sentence;
use crate::views::{Section, page as document};

/// The most loads that the API finds by their ids.
const MAX_EXPORTED: usize = 200;

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let asked = ListQuery::parse(request.query_string());
    let caller = user.caller(&console.api);
    let is_driver = user.is_driver();
    let parameters = Fields::parse(request.query_string().as_bytes());
    let find = async |query: &ListQuery| {
        let mut page = query.page(is_driver, console.clock);
        page.push(("include", "newestNote".to_owned()));
        let filters = query.parameters(is_driver, console.clock);
        let (page, filters) = (borrowed(&page), borrowed(&filters));
        let summary = caller.get::<Summary>(Service::Logistics, "/v1/loads/summary", &filters);
        futures_util::join!(
            caller.get::<Vec<Load>>(Service::Logistics, "/v1/loads", &page),
            sums_in_time(&parameters, summary)
        )
    };
    let (mut found, commodities, mut organisations, position, named) = futures_util::join!(
        find(&asked),
        caller.get::<Vec<Named>>(Service::Logistics, "/v1/commodities", &[]),
        find_organisations(&caller, is_driver),
        find_position(&caller),
        with_ids_in_list(&caller, &asked),
    );
    let (query, named) = match named {
        Err(CallError::LoggedOut) => return Err(CallError::LoggedOut.into()),
        named => named.unwrap_or_else(|_| (asked.clone(), Vec::new())),
    };
    organisations.extend(named);
    if query != asked {
        found = find(&query).await;
    }
    let (loads, summary) = found;
    let mut missing = Vec::new();
    let mut status = if loads.is_ok() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    // A filter that the API refuses is said in its own words.
    if let Err(CallError::Refused(refusal)) = &loads {
        missing.push(sentence(refusal));
        status = refusal.status_code();
    }
    let loads = optional(loads, &mut missing)?;
    let is_late = summary.is_none();
    let summary = summary.map(|summary| optional(summary, &mut missing)).transpose()?.flatten();
    let commodities = optional(commodities, &mut missing)?.map(|reply| reply.value).unwrap_or_default();
    let view = ListView {
        user: &user,
        clock: console.clock,
        query: &query,
        loads: loads.as_ref().map(|reply| reply.value.as_slice()),
        next: loads.as_ref().and_then(|reply| reply.next.as_deref()),
        summary: summary.as_ref().map(|reply| &reply.value),
        sums: is_late.then(|| with_query(&query.path(), &[(SUMS, "on")])),
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
    let has_all_columns = Fields::parse(request.query_string().as_bytes()).find("all-columns").is_some();
    let mut parameters = query.parameters(user.is_driver(), console.clock);
    parameters.extend(query.order());
    if !has_all_columns {
        parameters.push(("columns", query.exported_columns()));
    }
    send_export(&console, &user, &request, (&path.format, parameters)).await
}

/// Exports the selected loads, or all that the list finds.
pub(super) async fn export_selected(
    console: Data<Console>,
    form: PostForm,
    request: HttpRequest,
    path: Path<ExportPath>,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let (query, ids) = (ListQuery::parse(fields.get(LIST)), fields.all("ids"));
    let mut parameters = match (fields.find("all"), ids.is_empty()) {
        (Some(_), _) => [query.parameters(user.is_driver(), console.clock), query.order()].concat(),
        (None, false) => query.export_of(&ids),
        (None, true) => return Err(unselected("Select at least one load in the list.")),
    };
    if ids.len() > MAX_EXPORTED && fields.find("all").is_none() {
        return Err(unselected("Select at most 200 loads, or export all that the filters find."));
    }
    parameters.push(("columns", query.exported_columns()));
    send_export(&console, &user, &request, (&path.format, parameters)).await
}

fn unselected(message: &str) -> Failure {
    CallError::Refused(Box::new(Refusal { status: 400, message: message.to_owned(), ..Refusal::default() }))
        .into()
}

async fn send_export(
    console: &Console,
    user: &User,
    request: &HttpRequest,
    (format, mut parameters): (&str, Vec<(&'static str, String)>),
) -> Result<HttpResponse, Failure> {
    match format {
        "xlsx" => parameters.push(("format", "XLSX".to_owned())),
        // Excel needs the byte order mark to read accents correctly.
        "csv" => parameters.extend([("format", "CSV".to_owned()), ("bom", "true".to_owned())]),
        _ => return Err(Failure::NotFound),
    }
    let place = (Service::Logistics, "/v1/loads");
    download(console, user, request, place, &borrowed(&parameters)).await
}

pub(super) fn borrowed<'a>(parameters: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    parameters.iter().map(|(name, value)| (*name, value.as_str())).collect()
}
