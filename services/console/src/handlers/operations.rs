//! How the services are doing, for administrators: readiness, figures, log level and cache.

use std::time::SystemTime;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Data;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::extract::{Parameters, PostForm};
use super::{errors_of, html_with, log_away, see_other};
use crate::Console;
use crate::api::{CallError, Caller, FieldError, Service, Write, with_query};
use crate::fields::Fields;
use crate::metrics::Reading;
use crate::user::{Failure, User};
use crate::views::operations::{OperationsView, State};
use crate::views::{Section, page as document};

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    Parameters(parameters): Parameters,
) -> Result<HttpResponse, Failure> {
    show(&console, &user, &parameters, &[], StatusCode::OK).await
}

async fn show(
    console: &Console,
    user: &User,
    parameters: &Fields,
    errors: &[FieldError],
    status: StatusCode,
) -> Result<HttpResponse, Failure> {
    // Only the services decide who administers them: a page without their settings says nothing.
    let caller = user.caller(&console.api);
    let mut services = Vec::new();
    for found in join_all(Service::ALL.map(|service| find_state(console, &caller, service))).await {
        services.push(found?);
    }
    let view = OperationsView {
        user,
        states: &services,
        errors,
        done: match parameters.get("done") {
            "log" => Some("The log level is changed."),
            "cache" => Some("The cache is cleared."),
            "keys" => Some("System has read its keys again."),
            _ => None,
        },
    };
    Ok(html_with(status, &document(user, Section::Operations, "Operations", &view.markup())))
}

async fn find_state(console: &Console, caller: &Caller<'_>, service: Service) -> Result<State, Failure> {
    let (settings, ready, about, metrics) = futures_util::join!(
        caller.get::<Value>(service, "/v1/settings", &[]),
        console.api.peek(service, "/readyz"),
        console.api.peek(service, "/"),
        console.api.peek(service, "/metrics"),
    );
    let settings = match settings {
        Ok(reply) => Some(reply.value),
        Err(CallError::Away { service, cause }) => {
            log_away(service, &cause);
            None
        }
        Err(error) => return Err(error.into()),
    };
    let document =
        |text: Result<String, _>| text.ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let logging = settings.map(|settings| settings["logging"].clone());
    let reading = metrics.ok().map(|text| Reading::parse(&text, SystemTime::now()));
    let figures = reading.map(|reading| console.readings[service as usize].lock().figures(&reading));
    Ok(State {
        service,
        ready: document(ready),
        version: document(about).map(|about| text(&about, "version")),
        log: logging.map(|logging| (text(&logging, "level"), text(&logging, "filter"))),
        figures: figures.filter(|figures| figures.all.requests > 0.0),
    })
}

/// Changes the log level of a service.
pub(super) async fn set_log(console: Data<Console>, form: PostForm) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let name = fields.get("service");
    let service = Service::ALL.into_iter().find(|service| service.name() == name).ok_or(Failure::NotFound)?;
    let filter = fields.get("filter");
    let body =
        json!({"logging": {"level": fields.get("level"), "filter": (!filter.is_empty()).then_some(filter)}});
    send(&console, &user, &fields, (service, Method::PUT, "/v1/settings", &body), "log").await
}

/// Clears the cache of places, or makes system read its keys again.
pub(super) async fn clear_cache(console: Data<Console>, form: PostForm) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let (body, done) = match fields.get("what") {
        "keys" => (json!({"secrets": true}), "keys"),
        _ => (json!({"flush": true}), "cache"),
    };
    send(&console, &user, &fields, (Service::System, Method::POST, "/v1/cache", &body), done).await
}

async fn send(
    console: &Console,
    user: &User,
    fields: &Fields,
    (service, method, path, body): (Service, Method, &str, &Value),
    done: &str,
) -> Result<HttpResponse, Failure> {
    let caller = user.caller(&console.api);
    match caller.send_json(service, method, path, Some(body), Write::default()).await {
        Ok(_) => Ok(see_other(&with_query("/operations", &[("done", done)]))),
        Err(CallError::Refused(refusal)) if refusal.status != 403 => {
            show(console, user, &Fields::default(), &errors_of(&refusal), refusal.status_code()).await
        }
        Err(error) => {
            let place = if path == "/v1/cache" { "/operations/cache" } else { "/operations/log" };
            Err(Failure::from(error).keeping(place, fields.clone()))
        }
    }
}
