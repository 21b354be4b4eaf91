//! The routes outside `/v1` (`docs/api/browsers.md`): index, health, readiness, metrics, documentation.

use std::collections::BTreeMap;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, ContentType};
use actix_web::web::{self, Data};
use actix_web::{HttpRequest, HttpResponse, Resource, Responder, Route};
use database::Database;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use url::Url;

use super::{Service, Site, swagger_ui};
use crate::Error;
use crate::auth::Verifier;
use crate::middleware::activity::DrainState;
use crate::openapi::Api;
use crate::response::negotiate::prefers_html;
use crate::telemetry::metrics;

/// Timeout for the checks of `/readyz`. Orchestrators wait only one second for the response.
const CHECK_TIMEOUT: Duration = Duration::from_millis(900);

/// Adds the routes.
pub(super) fn routes<S: Service>(config: &mut web::ServiceConfig) {
    config
        .service(at("/", web::get().to(index)))
        .service(at("/healthz", web::get().to(async || HttpResponse::Ok().json(json!({ "status": "ok" })))))
        .service(at("/readyz", web::get().to(ready::<S>)))
        .service(at("/metrics", web::get().to(metrics)))
        .service(at("/openapi.json", web::get().to(openapi_document)))
        .service(at("/docs", web::get().to(async || web::Redirect::to("docs/"))))
        .service(at("/docs/guide", web::get().to(async || web::Redirect::to("guide/"))))
        // Beside the page, because the base URL in the document is relative to it.
        .service(at("/docs/openapi.json", web::get().to(openapi_document)))
        .service(at("/docs/{path:.*}", web::get().to(swagger_ui::find)));
}

/// Adds the routes of a site.
pub(super) fn site_routes<S: Site>(config: &mut web::ServiceConfig) {
    config
        .service(at("/healthz", web::get().to(async || HttpResponse::Ok().json(json!({ "status": "ok" })))))
        .service(at("/readyz", web::get().to(site_ready::<S>)))
        .service(at("/metrics", web::get().to(async || metrics_response())));
}

/// Creates a resource. Unlike a plain route it answers other methods with 405 instead of 404.
fn at(path: &str, route: Route) -> Resource {
    web::resource(path).route(route)
}

/// The links of `GET /`.
const LINKS: [(&str, &str); 5] = [
    ("openapi", "/openapi.json"),
    ("documentation", "/docs/"),
    ("health", "/healthz"),
    ("readiness", "/readyz"),
    ("metrics", "/metrics"),
];

/// The body of `GET /`, as JSON, and as HTML for browsers.
pub(super) struct ServiceIndex {
    json: Value,
    html: String,
}

impl ServiceIndex {
    /// Creates the index. The path of the base URL prefixes every link, because a proxy may serve each service under
    /// its own path.
    pub(super) fn new<S: Service>(public_url: &str, console: Option<&Url>) -> Self {
        let prefix = Url::parse(public_url).map(|url| url.path().trim_end_matches('/').to_owned());
        let prefix = prefix.unwrap_or_default();
        let links = LINKS.map(|(name, path)| (name.to_owned(), json!(format!("{prefix}{path}"))));
        let mut links = Map::from_iter(links);
        links.extend(console.map(|url| ("console".to_owned(), json!(url))));
        let version = env!("CARGO_PKG_VERSION");
        // Relative, because a proxy may add a path prefix that the service does not know.
        let item = |(name, path): &(&str, &str)| format!("<li><a href=\".{path}\">{name}</a></li>\n");
        let items = LINKS.iter().chain(&[("guide", "/docs/guide/")]).map(item);
        let to_console = |url: &Url| {
            let url = url.as_str().replace('&', "&amp;");
            format!("<li><a href=\"{url}\">console</a></li>\n")
        };
        let html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <link rel=\"stylesheet\" href=\"./docs/docs-page.css\">\n</head>\n<body class=\"guide\">\n\
             <main>\n<h1>{title}</h1>\n<p>Version {version}</p>\n<ul>\n{items}</ul>\n</main>\n</body>\n</html>\n",
            title = S::TITLE,
            items = items.chain(console.map(to_console)).collect::<String>(),
        );
        let json = json!({ "name": S::TITLE, "version": version, "links": links });
        Self { json, html }
    }
}

/// Handles `GET /`: HTML for clients that prefer it, such as browsers, otherwise JSON.
async fn index(request: HttpRequest, index: Data<ServiceIndex>) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    response.insert_header((header::VARY, "Accept"));
    if !prefers_html(&request) {
        return response.json(&index.json);
    }
    let policy =
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    response.insert_header((header::CONTENT_SECURITY_POLICY, policy));
    response.content_type(ContentType::html()).body(index.html.clone())
}

/// The last result of each dependency check. Only changes are logged.
#[derive(Default)]
pub(super) struct Readiness(Mutex<BTreeMap<&'static str, bool>>);

impl Readiness {
    fn record(&self, name: &'static str, is_reachable: bool) {
        let before = self.0.lock().insert(name, is_reachable);
        match (before, is_reachable) {
            (None | Some(true), false) => tracing::warn!(dependency = name, "dependency not reachable"),
            (Some(false), true) => tracing::info!(dependency = name, "dependency reachable again"),
            _ => {}
        }
    }

    /// Records what is reachable. Returns 200 if everything required is and the service is warm.
    fn respond(
        &self,
        required: &[(&'static str, bool)],
        others: &[(&'static str, bool)],
        is_warm: bool,
    ) -> HttpResponse {
        for (name, is_reachable) in required.iter().chain(others) {
            self.record(name, *is_reachable);
        }
        let (status, code) = match (required.iter().all(|(_, ok)| *ok), is_warm) {
            (true, true) => ("ok", StatusCode::OK),
            (true, false) => ("starting", StatusCode::SERVICE_UNAVAILABLE),
            (false, _) => ("unavailable", StatusCode::SERVICE_UNAVAILABLE),
        };
        let mut body = Map::<String, Value>::new();
        body.insert("status".into(), json!(status));
        for (states, otherwise) in [(required, "unavailable"), (others, "degraded")] {
            let state = |ok| json!(if ok { "ok" } else { otherwise });
            body.extend(states.iter().map(|(name, ok)| ((*name).to_owned(), state(*ok))));
        }
        HttpResponse::build(code).json(body)
    }
}

async fn ready<S: Service>(
    db: Data<Database>,
    service: Data<S>,
    verifier: Data<Verifier>,
    drain_state: Data<DrainState>,
    readiness: Data<Readiness>,
) -> HttpResponse {
    if drain_state.has_begun() {
        return HttpResponse::ServiceUnavailable().json(json!({ "status": "stopping" }));
    }
    let (ping, others) = tokio::join!(
        tokio::time::timeout(CHECK_TIMEOUT, db.ping()),
        tokio::time::timeout(CHECK_TIMEOUT, service.dependencies())
    );
    let required = [("database", matches!(ping, Ok(true))), ("keys", verifier.has_keys())];
    readiness.respond(&required, &others.unwrap_or_default(), service.is_warm())
}

/// A site is ready as long as it runs: its pages say what is missing.
async fn site_ready<S: Site>(
    site: Data<S>,
    drain_state: Data<DrainState>,
    readiness: Data<Readiness>,
) -> HttpResponse {
    if drain_state.has_begun() {
        return HttpResponse::ServiceUnavailable().json(json!({ "status": "stopping" }));
    }
    let others = tokio::time::timeout(CHECK_TIMEOUT, site.dependencies()).await;
    readiness.respond(&[], &others.unwrap_or_default(), true)
}

async fn metrics(db: Data<Database>) -> Result<HttpResponse, Error> {
    db.update_metrics();
    // Not on a blocking thread: all of them may be waiting for the database.
    Ok(metrics_response())
}

fn metrics_response() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain; version=0.0.4; charset=utf-8").body(metrics::render())
}

async fn openapi_document(api: Data<Api>) -> impl Responder {
    HttpResponse::Ok().content_type(ContentType::json()).body(api.document.clone())
}
