//! The pages and forms by their addresses.

mod actions;
mod address_book;
mod board;
mod connections;
mod driver;
mod enquiries;
mod events;
mod extract;
mod files;
mod import;
mod import_upload;
mod library;
mod listing;
mod listing_form;
mod load;
mod load_form;
mod loads;
mod login;
mod market;
mod moderation;
mod new_load;
mod operations;
mod personal_data;
mod secret;
mod sheet;
mod today;
mod uploads;
mod webhooks;

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use common::Pages;
use maud::Markup;
use uuid::Uuid;

use crate::api::{CallError, FieldError, Refusal, Reply, Service, with_query};
use crate::fields::Fields;
use crate::user::Failure;
use crate::views::messages::{self, sentence};

pub(crate) use extract::NewCookies;

/// Adds all pages.
pub(crate) fn pages(pages: &mut Pages<'_>) {
    pages
        .get("/", today::page)
        .get("/loads", loads::page)
        .get("/loads/export.{format}", loads::export)
        .post("/loads/export.{format}", loads::export_selected)
        .post("/loads/actions", actions::confirm)
        .post("/loads/actions/run", actions::run)
        .get("/loads/new", new_load::form)
        .post("/loads/new", new_load::submit)
        .get("/loads/{id}/sheet", sheet::load)
        .get("/loads/{id}", load::page)
        .post("/loads/{id}/notifications/{notification}/redeliver", load::redeliver)
        .get("/loads/{id}/{action}", load_form::form)
        .post("/loads/{id}/{action}", load_form::submit)
        .get("/driver", driver::page)
        .get("/driver/me", driver::me)
        .get("/driver/worker.js", driver::worker)
        .post("/driver/files", driver::upload)
        .get("/driver/{id}/{action}", driver::form)
        .post("/driver/{id}/{action}", driver::submit)
        .get("/market", market::page)
        .get("/market/save", market::save_form)
        .post("/market/save", market::save)
        .post("/market/pictures", market::add_pictures)
        .get("/market/pictures/{id}", market::picture)
        .get("/market/enquiries", enquiries::page)
        .get("/market/new", listing_form::choose)
        .get("/market/new/{category}", listing_form::new_form)
        .post("/market/new/{category}", listing_form::create)
        .get("/market/{id}", listing::page)
        .post("/market/{id}/wishlist", listing::wishlist)
        .post("/market/{id}/enquire", listing::enquire)
        .post("/market/{id}/answered/{enquiry}", listing::answered)
        .get("/market/{id}/report", listing::report_form)
        .post("/market/{id}/report", listing::report)
        .get("/market/{id}/close", listing::close_form)
        .post("/market/{id}/close", listing::close)
        .get("/market/{id}/edit", listing_form::edit_form)
        .post("/market/{id}/edit", listing_form::save)
        .get("/moderation", moderation::page)
        .post("/moderation/decide", moderation::decide)
        .post("/moderation/reinstate", moderation::reinstate)
        .get("/connections", connections::page)
        .get("/connections/secret", secret::page)
        .post("/connections/secret", secret::have)
        .get("/connections/accounts/new", connections::account_form)
        .post("/connections/accounts/new", connections::create_account)
        .post("/connections/accounts/{id}/{action}", connections::act_on_account)
        .get("/connections/searches/{id}", connections::open_search)
        .post("/connections/searches/{id}/{action}", connections::act_on_search)
        .get("/connections/webhooks/{service}/new", webhooks::new_form)
        .post("/connections/webhooks/{service}/new", webhooks::create)
        .get("/connections/webhooks/{service}/{id}", webhooks::page)
        .get("/connections/webhooks/{service}/{id}/edit", webhooks::edit_form)
        .post("/connections/webhooks/{service}/{id}/edit", webhooks::save)
        .get("/connections/webhooks/{service}/{id}/deliveries/{delivery}", webhooks::delivery)
        .post("/connections/webhooks/{service}/{id}/deliveries/{delivery}/redeliver", webhooks::redeliver)
        .post("/connections/webhooks/{service}/{id}/{action}", webhooks::act)
        .get("/personal-data", personal_data::page)
        .get("/personal-data/export", personal_data::export)
        .post("/personal-data/erase", personal_data::erase)
        .get("/operations", operations::page)
        .post("/operations/log", operations::set_log)
        .post("/operations/cache", operations::clear_cache)
        .get("/board", board::page)
        .get("/board/sheet", sheet::day)
        .post("/board/assign", board::assign)
        .get("/import", import::page)
        .post("/import/check", import::check)
        .post("/import/run", import::run)
        .post("/import/problems.{format}", import::problems)
        .get("/import/template.{format}", import::template)
        .get("/import/wait", import::wait)
        .get("/import/batches/{id}/undo", import::undo_form)
        .post("/import/batches/{id}/undo", import::undo)
        .get("/events", events::stream)
        .get("/files", library::page)
        .post("/files/upload", library::upload)
        .get("/files/{id}", files::file)
        .get("/files/{id}/about", library::about)
        .post("/files/{id}/{action}", library::act)
        .get("/login", login::page)
        .get("/login/start", login::start)
        .get("/login/callback", login::callback)
        .post("/login/person", login::person)
        .get("/account", login::account)
        .post("/logout", login::log_out)
        .get("/logged-out", login::logged_out)
        .get("/logged-in", login::logged_in)
        .get("/assets/{name}", files::asset);
}

/// Returns a page.
fn html(page: &Markup) -> HttpResponse {
    html_with(StatusCode::OK, page)
}

fn html_with(status: StatusCode, page: &Markup) -> HttpResponse {
    HttpResponse::build(status).content_type("text/html; charset=utf-8").body(page.0.clone())
}

/// Returns the page of a failure.
pub(crate) fn failure_response(failure: &Failure) -> HttpResponse {
    match failure {
        Failure::LoggedOut { to } => return see_other(&with_query("/login", &[("to", to)])),
        // The browser repeats the method and the body too.
        Failure::Retry { to } => {
            return HttpResponse::TemporaryRedirect().insert_header(("location", &**to)).finish();
        }
        Failure::Internal(cause) => tracing::error!(error = format!("{cause:#}"), "a page failed"),
        Failure::Call(CallError::Away { service, cause }) => log_away(*service, cause),
        _ => {}
    }
    html_with(failure.status_code(), &messages::failure(failure))
}

fn log_away(service: Service, cause: &anyhow::Error) {
    tracing::warn!(service = service.name(), error = format!("{cause:#}"), "a service is away");
}

/// Leads on after a form.
fn see_other(to: &str) -> HttpResponse {
    HttpResponse::SeeOther().insert_header(("location", to)).finish()
}

/// Returns a new idempotency key, for a form that is rendered.
fn new_key() -> String {
    Uuid::now_v7().to_string()
}

/// Returns the value of an optional part of a page. A service that is away is named in `missing`; what the person may
/// not see is left out. A refused token ends the page.
fn optional<T>(
    result: Result<Reply<T>, CallError>,
    missing: &mut Vec<String>,
) -> Result<Option<Reply<T>>, Failure> {
    match result {
        Ok(reply) => Ok(Some(reply)),
        Err(CallError::LoggedOut) => Err(CallError::LoggedOut.into()),
        Err(CallError::Away { service, cause }) => {
            log_away(service, &cause);
            let sentence = format!(
                "The service with {} is away at the moment, so some things are missing here.",
                service.contents()
            );
            if !missing.contains(&sentence) {
                missing.push(sentence);
            }
            Ok(None)
        }
        Err(CallError::Refused(_)) => Ok(None),
    }
}

/// How long a page waits for its counts and sums. Afterwards, it has a link to itself with [`SUMS`].
const SUMS_TIMEOUT: Duration = Duration::from_secs(1);
/// The parameter of a page that waits for its counts and sums, however long they take.
const SUMS: &str = "sums";

/// Returns counts or sums, unless the page does not wait for them.
async fn sums_in_time<T>(parameters: &Fields, sums: impl Future<Output = T>) -> Option<T> {
    let wait = if parameters.find(SUMS).is_some() { Duration::MAX } else { SUMS_TIMEOUT };
    tokio::time::timeout(wait, sums).await.ok()
}

/// Refuses a page to those who may not do what it is for. The services decide all the same.
fn only(is_allowed: bool) -> Result<(), Failure> {
    if is_allowed {
        return Ok(());
    }
    let message = "You may not do this.".to_owned();
    Err(CallError::Refused(Box::new(Refusal { status: 403, message, ..Refusal::default() })).into())
}

/// Returns what is wrong with the fields, or with the request as a whole.
fn errors_of(refusal: &Refusal) -> Vec<FieldError> {
    if refusal.validation.is_empty() {
        vec![FieldError::of_form(sentence(refusal))]
    } else {
        refusal.validation.clone()
    }
}
