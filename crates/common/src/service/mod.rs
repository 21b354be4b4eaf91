//! A running service: what it is made of, how it starts and how it stops.

pub mod cli;
pub mod connection;
pub mod docs;
pub mod drain;
pub mod health;
pub mod unparsed;

use std::future::Future;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::time::Duration;

use actix_cors::Cors;
use actix_web::App;
use actix_web::dev::ServerHandle;
use actix_web::middleware::{Compress, Condition, from_fn};
use actix_web::web::{self, Data};
use clap::{ArgMatches, Command};
use database::{Database, EmbeddedMigrations, Migrations, Options};
use diesel_migrations::embed_migrations;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::{JoinHandle, JoinSet};
use tracing_actix_web::TracingLogger;
use utoipa::openapi::InfoBuilder;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_actix_web::AppExt;
use utoipa_actix_web::scope::scope;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::auth::Verifier;
use crate::config::{Config, DatabaseConfig};
use crate::extract::{JsonLimit, idempotency};
use crate::middleware::access_control::admission;
use crate::middleware::rate_limit::RateLimiter;
use crate::middleware::request_lifecycle::{RequestSpan, boundary};
use crate::openapi::Api;
use crate::service::connection::Timeouts;
use crate::service::docs::Docs;
use crate::service::drain::{Acceptor, DrainState};
use crate::service::health::{Readiness, ServiceIndex};
use crate::settings::Settings;
use crate::telemetry::metrics;
use crate::telemetry::traces::{Export, Traces};
use crate::{Error, openapi as document, settings, telemetry};

const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// What makes a service itself. The implementing type is the state that its handlers share.
pub trait Service: Sized + Send + Sync + 'static {
    /// Its name, which is also its schema on PostgreSQL.
    const NAME: &'static str;
    /// Its name for people.
    const TITLE: &'static str;
    /// One sentence on what it does.
    const ABOUT: &'static str;
    /// The port it listens on unless told otherwise.
    const PORT: u16;
    /// Its own section of the configuration.
    type Settings: Default + Clone + std::fmt::Debug + Serialize + DeserializeOwned + Send;

    /// Its tables.
    fn migrations() -> Migrations;
    /// Its operations, under `/v1`.
    fn routes(v1: &mut ServiceConfig);
    /// Commands of its own beside those that every service has.
    fn commands() -> Vec<Command> {
        Vec::new()
    }
    /// Runs the one of these [`commands`](Service::commands) that was given.
    fn run(
        name: &str,
        _arguments: &ArgMatches,
        _settings: &Self::Settings,
        _db: Database,
    ) -> impl Future<Output = anyhow::Result<()>> {
        std::future::ready(Err(anyhow::anyhow!("there is no command {name}")))
    }
    /// Says what is wrong with the settings of its own, as [`open`](Service::open) would.
    fn check(
        _settings: &Self::Settings,
        _verifier: Data<Verifier>,
    ) -> impl Future<Output = anyhow::Result<()>> {
        std::future::ready(Ok(()))
    }
    /// Says what it counts, and shows it with 0 before there is something.
    fn register_metrics() {}
    /// Builds the state.
    fn open(settings: &Self::Settings, context: &Context) -> impl Future<Output = anyhow::Result<Self>>;
    /// What else it depends on, and whether it can be reached: shown by `/readyz`.
    fn dependencies(&self) -> impl Future<Output = Vec<(&'static str, bool)>> {
        async { Vec::new() }
    }
    /// What it does beside answering requests, for as long as it runs.
    fn background(_service: Data<Self>) -> impl Future<Output = ()> + Send + 'static {
        std::future::ready(())
    }
    /// What it ends in order when it is told to stop, while requests in flight finish; broken off with them.
    fn finish(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// What a service is given to build its state from.
pub struct Context {
    /// Its database.
    pub db: Database,
    /// The base URL that clients use, without a slash at the end.
    pub public_url: String,
    /// What tells callers apart.
    pub verifier: Data<Verifier>,
    /// What begins traces.
    pub traces: Traces,
}

/// The OpenAPI document of a service, from its handlers.
pub fn openapi<S: Service>() -> anyhow::Result<serde_json::Value> {
    let (_, mut document) = App::new().into_utoipa_app().configure(operations::<S>).split_for_parts();
    document.info = InfoBuilder::new()
        .title(S::TITLE)
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(S::ABOUT))
        .license(Some(utoipa::openapi::License::new("MIT OR Apache-2.0")))
        .build();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
    document.components.get_or_insert_default().add_security_scheme("bearer", SecurityScheme::Http(bearer));
    document::finish(&document)
}

fn operations<S: Service>(config: &mut ServiceConfig) {
    config.service(scope("/v1").configure(S::routes).service(settings::update).service(settings::find));
}

/// All tables of a service: the common ones first.
pub fn migrations<S: Service>() -> Vec<Migrations> {
    vec![Migrations { sqlite: SQLITE, postgres: POSTGRES }, S::migrations()]
}

pub(crate) fn options<S: Service>(config: &DatabaseConfig) -> Options {
    Options {
        url: config.url.clone(),
        schema: S::NAME,
        pool_size: config.pool_size.max(1),
        migrate: config.migrate,
        wait: Duration::from_millis(config.wait_ms),
    }
}

/// A service that answers.
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    handle: ServerHandle,
    server: JoinHandle<std::io::Result<()>>,
    /// Ended when this is dropped.
    background: JoinSet<()>,
    finish: Pin<Box<dyn Future<Output = ()> + Send>>,
    patience: Duration,
    leaving: Data<DrainState>,
    door: Acceptor,
    drain: Duration,
    settings: Data<Settings>,
    export: Export,
}

impl Running {
    /// Goes on for `server.drain_seconds`, or until it is `enough`, while proxies learn that it leaves; then
    /// [stops](Self::stop).
    pub async fn drain_and_stop(self, enough: impl Future<Output = ()>) {
        if !self.drain.is_zero() {
            self.leaving.begin();
            let drained = async {
                tokio::time::sleep(self.drain).await;
                // Who lets people in tells, as an error, that the door is shut.
                self.settings.silence_target("actix_server=off");
                self.door.shut(&self.handle).await;
            };
            tokio::select! {
                () = drained => {}
                () = enough => {}
            }
        }
        self.stop().await;
    }

    /// Takes no more connections, lets requests in flight and what the service does beside them finish, and ends.
    pub async fn stop(mut self) {
        let _ = tokio::join!(self.handle.stop(true), tokio::time::timeout(self.patience, self.finish));
        self.background.shutdown().await;
        let _ = self.server.await;
        self.export.stop().await;
    }

    /// Waits until the server ends by itself, or a background task panics, which they never should.
    pub async fn failed(&mut self) -> anyhow::Error {
        loop {
            tokio::select! {
                ended = &mut self.server => return match ended {
                    Ok(Err(error)) => anyhow::Error::new(error).context("the server ended"),
                    _ => anyhow::anyhow!("the server ended"),
                },
                // Of its own accord a task may end.
                Some(ended) = self.background.join_next() => {
                    if let Err(panic) = ended {
                        return anyhow::Error::new(panic).context("a background task ended");
                    }
                }
            }
        }
    }
}

/// What can be seen to be wrong in the settings that all services have.
pub(crate) fn check<T: Default>(config: &Config<T>) -> anyhow::Result<()> {
    config.server.check()?;
    config.traces.check()?;
    RateLimiter::open(&config.server)?;
    anyhow::ensure!(
        settings::is_level(&config.log.level),
        "log.level (DROVER_LOG__LEVEL) is \"{}\": set it to {}",
        config.log.level,
        settings::LEVELS.join(", ")
    );
    Ok(())
}

/// Opens everything a service needs and begins to answer.
///
/// # Errors
/// One sentence on what to change: a port in use, a database that cannot be opened, keys that are missing.
pub async fn start<S: Service>(config: Config<S::Settings>) -> anyhow::Result<Running> {
    check(&config)?;
    let server = &config.server;
    // Before all that counts.
    telemetry::recorder();
    metrics::register_metrics(S::NAME);
    S::register_metrics();
    let listener = listen(&server.host, server.port)?;
    let address = listener.local_addr()?;
    let public_url =
        server.public_url.as_ref().map_or_else(|| format!("http://{address}"), ToString::to_string);
    // Before the database, which would be made: a service that cannot tell callers apart leaves no trace.
    let verifier = Data::new(Verifier::open(&config.auth).await?);
    let (traces, export) = Traces::open(&config.traces, S::NAME)?;
    let context = Context {
        db: Database::open(options::<S>(&config.database), migrations::<S>).await?,
        public_url: public_url.trim_end_matches('/').to_owned(),
        verifier: verifier.clone(),
        traces: traces.clone(),
    };
    let db = Data::new(context.db.clone());
    let api = Data::new(Api::new(&openapi::<S>()?)?);
    let settings = Data::new(Settings::open(&context.db, &config.log.level).await?);
    let service = Data::new(S::open(&config.service, &context).await?);
    let (limit, patience) = (Data::new(JsonLimit(server.json_bytes)), Data::new(Timeouts::new(server)));
    let turns = Data::new(idempotency::KeyedLocks::default());
    let (rates, traces) = (Data::new(RateLimiter::open(server)?), Data::new(traces));
    let leaving = Data::new(DrainState::default());
    let index = Data::new(ServiceIndex::new::<S>(&context.public_url));
    let (docs, readiness) = (Data::new(Docs::default()), Data::new(Readiness::default()));

    let watch = Settings::watch(settings.clone());
    let (own, tidying) = (S::background(service.clone()), rates.clone());
    let (asked, kept) = (leaving.clone(), settings.clone());
    let finishing = service.clone();
    let origins = server.cors_origins.clone();
    let factory = move || {
        let (app, _) = App::new().into_utoipa_app().configure(operations::<S>).split_for_parts();
        app.app_data(db.clone())
            .app_data(api.clone())
            .app_data(verifier.clone())
            .app_data(settings.clone())
            .app_data(service.clone())
            .app_data(limit.clone())
            .app_data(patience.clone())
            .app_data(turns.clone())
            .app_data(rates.clone())
            .app_data(asked.clone())
            .app_data(traces.clone())
            .app_data(index.clone())
            .app_data(docs.clone())
            .app_data(readiness.clone())
            .configure(health::routes::<S>)
            .default_service(web::to(async || Err::<&str, _>(Error::NotFound)))
            .wrap(Compress::default())
            .wrap(from_fn(admission))
            .wrap(Condition::new(!origins.is_empty(), cors(&origins)))
            .wrap(from_fn(boundary))
            .wrap(TracingLogger::<RequestSpan>::new())
    };
    let door = Acceptor(listener.try_clone()?);
    let running = connection::serve(listener, server, factory)?;
    let handle = running.handle();
    let mut background = JoinSet::new();
    background.spawn(watch);
    background.spawn(own);
    background.spawn(async move { tidying.remove_idle().await });
    background.spawn(prune(context.db.clone()));
    background.spawn(telemetry::run_upkeep());
    tracing::info!(service = S::NAME, %address, "ready");
    Ok(Running {
        address,
        handle,
        server: tokio::spawn(running),
        background,
        finish: Box::pin(async move { finishing.finish().await }),
        patience: Duration::from_secs(server.shutdown_seconds),
        leaving,
        door,
        drain: Duration::from_secs(server.drain_seconds),
        settings: kept,
        export,
    })
}

fn listen(host: &str, port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind((host, port)).map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::AddrInUse => "stop what uses that port, or set server.port (DROVER_SERVER__PORT)",
            ErrorKind::PermissionDenied => "set server.port (DROVER_SERVER__PORT) to 1024 or more",
            _ => {
                "set server.host (DROVER_SERVER__HOST) to an address of this machine, such as 127.0.0.1, or 0.0.0.0 for \
                 all of them"
            }
        };
        anyhow::anyhow!("cannot listen on {host}:{port}: {error}: {remedy}")
    })
}

/// What browsers may read beside the few headers that they always may.
const EXPOSED: [&str; 14] = [
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
];

fn cors(origins: &[String]) -> Cors {
    let cors = Cors::default().allow_any_method().allow_any_header().expose_headers(EXPOSED).max_age(3600);
    if origins.iter().any(|origin| origin == "*") {
        return cors.allow_any_origin();
    }
    origins.iter().fold(cors, |cors, origin| cors.allowed_origin(origin))
}

/// Forgets expired idempotency keys for as long as the service runs.
async fn prune(db: Database) {
    loop {
        tokio::time::sleep(Duration::from_secs(600)).await;
        if let Err(error) = db.write(idempotency::prune).await {
            tracing::warn!(error = format!("{error:?}"), "expired idempotency keys could not be removed");
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A database that has the common tables only.
    pub(crate) async fn open(test: &testkit::TestDatabase) -> Database {
        let wait = Duration::from_secs(5);
        let options =
            Options { url: test.url.as_str().into(), schema: "common", pool_size: 2, migrate: true, wait };
        Database::open(options, || vec![Migrations { sqlite: SQLITE, postgres: POSTGRES }]).await.unwrap()
    }
}
