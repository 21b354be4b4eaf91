//! What operators and browsers ask outside `/v1`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::ContentType;
use actix_web::web::{self, Data};
use actix_web::{HttpResponse, Resource, Responder, Route};
use database::Database;
use serde_json::{Map, Value, json};
use url::Url;

use super::docs;
use crate::openapi::Api;
use crate::service::Service;
use crate::service::drain::DrainState;
use crate::{Error, telemetry};

/// A probe that takes longer than this counts as failed: those who ask wait no longer than a second themselves.
const CHECK_TIMEOUT: Duration = Duration::from_millis(900);

pub(crate) fn routes<S: Service>(config: &mut web::ServiceConfig) {
    config
        .service(at("/", web::get().to(async |index: Data<ServiceIndex>| web::Json(index.0.clone()))))
        .service(at("/healthz", web::get().to(async || HttpResponse::Ok().json(json!({ "status": "ok" })))))
        .service(at("/readyz", web::get().to(ready::<S>)))
        .service(at("/metrics", web::get().to(metrics)))
        .service(at("/openapi.json", web::get().to(document)))
        .service(at("/docs", web::get().to(async || web::Redirect::to("docs/"))))
        .service(at("/docs/{path:.*}", web::get().to(docs::find)));
}

/// A resource, so that other methods are answered with 405 and not with 404.
fn at(path: &str, route: Route) -> Resource {
    web::resource(path).route(route)
}

/// The body of `GET /`.
pub(crate) struct ServiceIndex(Value);

impl ServiceIndex {
    /// Creates the index. The path of the base URL prefixes every link, because a proxy may serve each service under its
    /// own path.
    pub(crate) fn new<S: Service>(public_url: &str) -> Self {
        let prefix = Url::parse(public_url).map(|url| url.path().trim_end_matches('/').to_owned());
        let prefix = prefix.unwrap_or_default();
        let links = [
            ("openapi", "/openapi.json"),
            ("documentation", "/docs/"),
            ("health", "/healthz"),
            ("readiness", "/readyz"),
            ("metrics", "/metrics"),
        ];
        let links = links.map(|(name, path)| (name.to_owned(), json!(format!("{prefix}{path}"))));
        Self(json!({
            "name": S::TITLE,
            "version": env!("CARGO_PKG_VERSION"),
            "links": Map::from_iter(links),
        }))
    }
}

/// Which dependencies were reachable when they were last probed, so that a change is logged once.
#[derive(Default)]
pub(crate) struct Readiness(Mutex<BTreeMap<&'static str, bool>>);

impl Readiness {
    fn record(&self, name: &'static str, is_reachable: bool) {
        let before = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name, is_reachable);
        match (before, is_reachable) {
            (None | Some(true), false) => tracing::warn!(dependency = name, "a dependency is not reachable"),
            (Some(false), true) => tracing::info!(dependency = name, "a dependency is reachable again"),
            _ => {}
        }
    }
}

async fn ready<S: Service>(
    db: Data<Database>,
    service: Data<S>,
    leaving: Data<DrainState>,
    readiness: Data<Readiness>,
) -> HttpResponse {
    if leaving.has_begun() {
        return HttpResponse::ServiceUnavailable().json(json!({ "status": "stopping" }));
    }
    let (database, others) = tokio::join!(
        tokio::time::timeout(CHECK_TIMEOUT, db.ping()),
        tokio::time::timeout(CHECK_TIMEOUT, service.dependencies())
    );
    let reachable = matches!(database, Ok(true));
    let others = others.unwrap_or_default();
    for (name, is_reachable) in [("database", reachable)].iter().chain(&others) {
        readiness.record(name, *is_reachable);
    }
    let word = |ok, otherwise| json!(if ok { "ok" } else { otherwise });
    let mut body = Map::<String, Value>::new();
    body.insert("status".into(), word(reachable, "unavailable"));
    body.insert("database".into(), word(reachable, "unavailable"));
    body.extend(others.into_iter().map(|(name, ok)| (name.to_owned(), word(ok, "degraded"))));
    let status = if reachable { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    HttpResponse::build(status).json(body)
}

async fn metrics(db: Data<Database>) -> Result<HttpResponse, Error> {
    db.update_metrics();
    // Here: the blocking threads may all wait for a database.
    let text = telemetry::metrics();
    Ok(HttpResponse::Ok().content_type("text/plain; version=0.0.4; charset=utf-8").body(text))
}

async fn document(api: Data<Api>) -> impl Responder {
    HttpResponse::Ok().content_type(ContentType::json()).body(api.document.clone())
}
