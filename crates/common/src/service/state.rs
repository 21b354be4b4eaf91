//! The state that all workers share, and the app that each worker runs.

use actix_cors::Cors;
use actix_web::App;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::http::header::HeaderValue;
use actix_web::middleware::{Compress, Condition, from_fn};
use actix_web::web::{self, Data};
use database::Database;
use tracing_actix_web::TracingLogger;
use utoipa_actix_web::AppExt;

use super::document::{exact_openapi, operations};
use super::health::{self, Readiness, ServiceIndex};
use super::swagger_ui::{self, SwaggerUi};
use super::{Service, ServiceContext};
use crate::Error;
use crate::auth::Verifier;
use crate::config::{Config, Timeouts, allows_loopback};
use crate::extract::JsonLimit;
use crate::extract::idempotency::KeyedLocks;
use crate::middleware::access_control::access_control;
use crate::middleware::activity::DrainState;
use crate::middleware::rate_limit::RateLimiter;
use crate::middleware::request_lifecycle::{RequestSpan, request_lifecycle};
use crate::openapi::unknown_parameters::StrictParameters;
use crate::openapi::{Api, add_login};
use crate::personal_data::RecordKinds;
use crate::settings::RuntimeSettings;
use crate::telemetry::security::RefusalLog;
use crate::telemetry::traces::Traces;

/// The state that handlers, extractors and middleware use.
pub(super) struct State<S> {
    pub(super) service: Data<S>,
    pub(super) settings: Data<RuntimeSettings>,
    pub(super) limiter: Data<RateLimiter>,
    pub(super) refusals: Data<RefusalLog>,
    pub(super) drain: Data<DrainState>,
    db: Data<Database>,
    api: Data<Api>,
    verifier: Data<Verifier>,
    json_limit: Data<JsonLimit>,
    strict_parameters: Data<StrictParameters>,
    timeouts: Data<Timeouts>,
    locks: Data<KeyedLocks>,
    records: Data<RecordKinds>,
    traces: Data<Traces>,
    index: Data<ServiceIndex>,
    swagger_ui: Data<SwaggerUi>,
    readiness: Data<Readiness>,
    cors_origins: Vec<String>,
}

impl<S: Service> State<S> {
    /// Creates the state.
    ///
    /// # Errors
    /// Names the setting to change.
    pub(super) async fn open(config: &Config<S::Settings>, context: &ServiceContext) -> anyhow::Result<Self> {
        let server = &config.server;
        let login = config.auth.docs.login()?;
        let mut document = exact_openapi::<S>()?;
        if let Some(login) = &login {
            add_login(&mut document, login);
        }
        let public_url = server.public_url.as_ref().map(|url| url.as_str().trim_end_matches('/'));
        let bar = swagger_ui::bar(S::NAME, &context.public_url, &server.docs_links)?;
        let api = Data::new(Api::new(&document, public_url)?);
        let settings = Data::new(RuntimeSettings::open(&context.db, &config.log.level).await?);
        Ok(Self {
            service: Data::new(S::open(&config.service, context).await?),
            settings,
            limiter: Data::new(RateLimiter::open(server)?),
            refusals: Data::default(),
            drain: Data::default(),
            db: Data::new(context.db.clone()),
            api,
            verifier: context.verifier.clone(),
            json_limit: Data::new(JsonLimit(server.json_bytes)),
            strict_parameters: Data::new(StrictParameters(server.strict_parameters)),
            timeouts: Data::new(Timeouts::new(server)),
            locks: Data::default(),
            records: Data::new(RecordKinds::new(S::NAME, S::record_kinds())),
            traces: Data::new(context.traces.clone()),
            index: Data::new(ServiceIndex::new::<S>(&context.public_url, server.console_url.as_ref())),
            swagger_ui: Data::new(SwaggerUi::new(S::TITLE, bar, login.as_ref())?),
            readiness: Data::default(),
            cors_origins: server.cors_origins.clone(),
        })
    }

    /// Creates the app of a worker. Of its layers the last one is the outermost.
    pub(super) fn app(
        &self,
    ) -> App<
        impl ServiceFactory<
            ServiceRequest,
            Config = (),
            Response = ServiceResponse<impl MessageBody + use<S>>,
            Error = actix_web::Error,
            InitError = (),
        > + use<S>,
    > {
        let (app, _) = App::new().into_utoipa_app().configure(operations::<S>).split_for_parts();
        app.app_data(self.db.clone())
            .app_data(self.api.clone())
            .app_data(self.verifier.clone())
            .app_data(self.settings.clone())
            .app_data(self.service.clone())
            .app_data(self.json_limit.clone())
            .app_data(self.strict_parameters.clone())
            .app_data(self.timeouts.clone())
            .app_data(self.locks.clone())
            .app_data(self.records.clone())
            .app_data(self.limiter.clone())
            .app_data(self.refusals.clone())
            .app_data(self.drain.clone())
            .app_data(self.traces.clone())
            .app_data(self.index.clone())
            .app_data(self.swagger_ui.clone())
            .app_data(self.readiness.clone())
            .configure(|app| S::configure(&self.service, app))
            .configure(health::routes::<S>)
            .default_service(web::to(async || Err::<&str, _>(Error::NotFound)))
            .wrap(Compress::default())
            .wrap(from_fn(access_control))
            .wrap(Condition::new(!self.cors_origins.is_empty(), cors(&self.cors_origins)))
            .wrap(from_fn(request_lifecycle))
            .wrap(TracingLogger::<RequestSpan>::new())
    }
}

/// Response headers that browsers may read, besides those that they always may.
const EXPOSED_HEADERS: [&str; 15] = [
    "accept-ranges",
    "api-version",
    "content-disposition",
    "content-range",
    "etag",
    "idempotency-replayed",
    "link",
    "location",
    "retry-after",
    "traceparent",
    "www-authenticate",
    "x-missing-ids",
    "x-request-id",
    "x-total-count",
    "x-unknown-parameters",
];
/// How long browsers may cache a preflight response.
const MAX_AGE_SECONDS: usize = 3600;

/// Returns the CORS layer for these values of `server.cors_origins`.
pub(super) fn cors(origins: &[String]) -> Cors {
    let cors = Cors::default()
        .allow_any_method()
        .allow_any_header()
        .expose_headers(EXPOSED_HEADERS)
        .max_age(MAX_AGE_SECONDS);
    if origins.iter().any(|origin| origin == "*") {
        return cors.allow_any_origin();
    }
    let configured = origins.to_owned();
    let is_loopback =
        move |origin: &HeaderValue| origin.to_str().is_ok_and(|origin| allows_loopback(&configured, origin));
    let cors = cors.allowed_origin_fn(move |origin, _| is_loopback(origin));
    origins
        .iter()
        .filter(|origin| *origin != "loopback")
        .fold(cors, |cors, origin| cors.allowed_origin(origin))
}
