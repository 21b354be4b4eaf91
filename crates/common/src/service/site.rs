//! A site: a service of pages for browsers, without a database and an API of its own. Its server, log lines, metrics,
//! health checks, command line and shutdown are those of every service.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::MessageBody;
use actix_web::dev::{Service, ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::{Compress, from_fn};
use actix_web::web::{self, Data};
use actix_web::{App, FromRequest, Handler, Responder, Route};
use tokio::task::JoinSet;
use tracing_actix_web::TracingLogger;

use super::health::{self, Readiness};
use super::running::{Acceptor, Running};
use super::server::{self, listen};
use super::start::{check_log, public_url};
use super::{Site, SiteContext};
use crate::config::{Log, Server, SiteConfig, Timeouts};
use crate::middleware::activity::DrainState;
use crate::middleware::request_lifecycle::{RequestSpan, request_lifecycle};
use crate::openapi::Api;
use crate::telemetry::security::RefusalLog;
use crate::telemetry::traces::Traces;
use crate::telemetry::{logs, metrics};

/// The pages of a site, each with its method and pattern, under which its requests are counted.
pub struct Pages<'a> {
    config: &'a mut web::ServiceConfig,
    added: Vec<(Method, String)>,
}

impl Pages<'_> {
    /// Adds a page that is read.
    pub fn get<F, Args>(&mut self, pattern: &str, handler: F) -> &mut Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.add(Method::GET, pattern, web::get().to(handler))
    }

    /// Adds what a form is sent to.
    pub fn post<F, Args>(&mut self, pattern: &str, handler: F) -> &mut Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.add(Method::POST, pattern, web::post().to(handler))
    }

    fn add(&mut self, method: Method, pattern: &str, route: Route) -> &mut Self {
        self.config.route(pattern, route);
        self.added.push((method, pattern.to_owned()));
        self
    }
}

impl SiteContext {
    /// Returns the context of a site that listens on this address.
    pub(super) fn new(server: &Server, address: SocketAddr) -> Self {
        Self { public_url: public_url(server, address) }
    }
}

/// Opens everything that a site needs, and starts to answer requests.
///
/// # Errors
/// Names what to change: a setting, or the port that is in use.
pub async fn start_site<S: Site>(config: SiteConfig<S::Settings>) -> anyhow::Result<Running> {
    check(&config)?;
    metrics::install();
    metrics::register_metrics(S::NAME);
    let listener = listen(&config.server.host, config.server.port)?;
    let address = listener.local_addr()?;
    let (traces, export) = Traces::open(&config.traces, S::NAME)?;
    let context = SiteContext::new(&config.server, address);
    let state = Arc::new(State::<S> {
        site: Data::new(S::open(&config.service, &context)?),
        api: Data::new(Api::of_pages(pages::<S>())),
        drain: Data::default(),
        refusals: Data::default(),
        timeouts: Data::new(Timeouts::new(&config.server)),
        traces: Data::new(traces),
        readiness: Data::default(),
    });
    let acceptor = Acceptor(listener.try_clone()?);
    let (drain_state, site, refusals) = (state.drain.clone(), state.site.clone(), state.refusals.clone());
    let worker_state = state;
    let server = server::serve(listener, &config.server, move || worker_state.app())?;
    let mut background = JoinSet::new();
    background.spawn(metrics::run_upkeep());
    background.spawn(async move { refusals.run().await });
    background.spawn(S::background(site.clone()));
    tracing::info!(service = S::NAME, %address, "ready");
    let Log { level, .. } = config.log;
    Ok(Running {
        address,
        handle: server.handle(),
        server: tokio::spawn(server),
        acceptor,
        background,
        finish: Box::pin(async move { site.stop() }),
        drain_state,
        drain_time: Duration::from_secs(config.server.drain_seconds),
        shutdown_timeout: Duration::from_secs(config.server.shutdown_seconds),
        silence_target: Box::new(move |directive| logs::set_level(&level, directive)),
        export,
        db: None,
    })
}

/// Validates the settings that every site has.
///
/// # Errors
/// Names the setting to change.
pub(super) fn check<T: Default>(config: &SiteConfig<T>) -> anyhow::Result<()> {
    config.server.check()?;
    config.traces.check()?;
    check_log(&config.log)
}

/// Returns the method and pattern of each page.
fn pages<S: Site>() -> Vec<(Method, String)> {
    let mut added = Vec::new();
    App::new().configure(|config| {
        let mut pages = Pages { config, added: Vec::new() };
        S::pages(&mut pages);
        added = pages.added;
    });
    added
}

/// The state that the app of each worker uses.
struct State<S> {
    site: Data<S>,
    api: Data<Api>,
    drain: Data<DrainState>,
    refusals: Data<RefusalLog>,
    timeouts: Data<Timeouts>,
    traces: Data<Traces>,
    readiness: Data<Readiness>,
}

impl<S: Site> State<S> {
    /// Creates the app of a worker. Of its layers the last one is the outermost.
    fn app(
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
        App::new()
            .app_data(self.site.clone())
            .app_data(self.api.clone())
            .app_data(self.drain.clone())
            .app_data(self.refusals.clone())
            .app_data(self.timeouts.clone())
            .app_data(self.traces.clone())
            .app_data(self.readiness.clone())
            .configure(health::site_routes::<S>)
            .configure(|config| S::pages(&mut Pages { config, added: Vec::new() }))
            .wrap_fn(|request, next| {
                let called = next.call(request);
                async move {
                    let response = called.await?;
                    let site = response.request().app_data::<Data<S>>().cloned();
                    Ok(match site {
                        Some(site) => S::complete(&site, response),
                        None => response,
                    })
                }
            })
            .wrap(Compress::default())
            .wrap(from_fn(request_lifecycle))
            .wrap(TracingLogger::<RequestSpan>::new())
    }
}
