//! What operators and browsers ask outside `/v1`.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::ContentType;
use actix_web::web::{self, Data};
use actix_web::{HttpResponse, Resource, Responder, Route};
use anyhow::anyhow;
use database::Database;
use flate2::read::GzDecoder;
use serde_json::{Map, Value, json};
use utoipa_swagger_ui::Config;

use crate::Error;
use crate::api::Api;
use crate::leaving::Leaving;
use crate::server::Service;
use crate::telemetry;

/// A probe that takes longer than this counts as failed: those who ask wait no longer than a second themselves.
const PATIENCE: Duration = Duration::from_millis(900);

pub(crate) fn routes<S: Service>(config: &mut web::ServiceConfig) {
    config
        .service(at("/", web::get().to(index::<S>)))
        .service(at("/healthz", web::get().to(async || HttpResponse::Ok().json(json!({ "status": "ok" })))))
        .service(at("/readyz", web::get().to(ready::<S>)))
        .service(at("/metrics", web::get().to(metrics)))
        .service(at("/openapi.json", web::get().to(document)))
        .service(at("/docs", web::get().to(async || web::Redirect::to("docs/"))))
        .service(at("/docs/{path:.*}", web::get().to(docs)));
}

/// A resource, so that other methods are answered with 405 and not with 404.
fn at(path: &str, route: Route) -> Resource {
    web::resource(path).route(route)
}

async fn index<S: Service>() -> impl Responder {
    web::Json(json!({
        "name": S::TITLE,
        "version": env!("CARGO_PKG_VERSION"),
        "links": {"operations": "/v1", "openapi": "/openapi.json", "documentation": "/docs/", "health": "/healthz",
            "readiness": "/readyz", "metrics": "/metrics"},
    }))
}

/// A file of Swagger UI. They are compressed in the program, of which they would be a tenth otherwise.
async fn docs(path: web::Path<String>) -> Result<HttpResponse, Error> {
    let found = utoipa_swagger_ui::serve(&path, Arc::new(Config::from("../openapi.json")));
    let file = found.map_err(|e| Error::Internal(anyhow!(e.to_string())))?.ok_or(Error::NotFound)?;
    let mut content = Vec::new();
    if file.gzpipped {
        GzDecoder::new(&*file.bytes).read_to_end(&mut content).map_err(|e| Error::Internal(e.into()))?;
    } else {
        content.extend_from_slice(&file.bytes);
    }
    Ok(HttpResponse::Ok().content_type(file.content_type).body(content))
}

async fn ready<S: Service>(db: Data<Database>, service: Data<S>, leaving: Data<Leaving>) -> HttpResponse {
    if leaving.has_begun() {
        return HttpResponse::ServiceUnavailable().json(json!({ "status": "stopping" }));
    }
    let (database, others) = tokio::join!(
        tokio::time::timeout(PATIENCE, db.ping()),
        tokio::time::timeout(PATIENCE, service.dependencies())
    );
    let reachable = matches!(database, Ok(true));
    let word = |ok, otherwise| json!(if ok { "ok" } else { otherwise });
    let mut body = Map::<String, Value>::new();
    body.insert("status".into(), word(reachable, "unavailable"));
    body.insert("database".into(), word(reachable, "unavailable"));
    body.extend(
        others.unwrap_or_default().into_iter().map(|(name, ok)| (name.to_owned(), word(ok, "degraded"))),
    );
    let status = if reachable { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    HttpResponse::build(status).json(body)
}

async fn metrics(db: Data<Database>) -> Result<HttpResponse, Error> {
    db.measure();
    // Here: the blocking threads may all wait for a database.
    let text = telemetry::metrics();
    Ok(HttpResponse::Ok().content_type("text/plain; version=0.0.4; charset=utf-8").body(text))
}

async fn document(api: Data<Api>) -> impl Responder {
    HttpResponse::Ok().content_type(ContentType::json()).body(api.document.clone())
}
