//! Starts a service, and opens its database.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Data;
use anyhow::{Context, ensure};
use database::{Database, Migrations, Options, StandbyOptions};
use secrecy::ExposeSecret;

use super::running::{Acceptor, Running};
use super::server::listen;
use super::state::State;
use super::{Service, ServiceContext, running, server, swagger_ui};
use crate::auth::Verifier;
use crate::config::{Config, DatabaseConfig, Log, Server};
use crate::middleware::rate_limit::RateLimiter;
use crate::schema::COMMON;
use crate::settings;
use crate::telemetry::metrics;
use crate::telemetry::traces::{Export, Traces};

/// Opens everything that a service needs, and starts to answer requests.
///
/// # Errors
/// Names what to change: the port is in use, the database cannot be opened, the verification keys are missing.
pub async fn start<S: Service>(config: Config<S::Settings>) -> anyhow::Result<Running> {
    check(&config)?;
    register_metrics::<S>();
    let listener = listen(&config.server.host, config.server.port)?;
    let address = listener.local_addr()?;
    let (context, export) = open_context::<S>(&config, address).await?;
    let state = Arc::new(State::<S>::open(&config, &context).await?);
    if config.server.demo_data {
        create_demo_data(state.service.get_ref()).await?;
    }
    let acceptor = Acceptor(listener.try_clone()?);
    let worker_state = state.clone();
    let server = server::serve(listener, &config.server, move || worker_state.app())?;
    let background = running::spawn_background(
        state.service.clone(),
        state.settings.clone(),
        (state.limiter.clone(), state.refusals.clone()),
        &context,
    );
    tracing::info!(service = S::NAME, %address, "ready");
    let (service, settings) = (state.service.clone(), state.settings.clone());
    Ok(Running {
        address,
        handle: server.handle(),
        server: tokio::spawn(server),
        acceptor,
        background,
        finish: Box::pin(async move { service.finish().await }),
        drain_state: state.drain.clone(),
        drain_time: Duration::from_secs(config.server.drain_seconds),
        shutdown_timeout: Duration::from_secs(config.server.shutdown_seconds),
        silence_target: Box::new(move |directive| settings.silence_target(directive)),
        export,
        db: Some(context.db),
    })
}

/// Stores the records of the examples. If another replica stored them at the same time, the second attempt finds them.
async fn create_demo_data<S: Service>(service: &S) -> anyhow::Result<()> {
    if let Err(error) = service.create_demo_data().await {
        tracing::debug!(error = format!("{error:?}"), "the demo data was not stored at first");
        service.create_demo_data().await.context(
            "cannot store the demo data: set server.demo_data (DROVER_SERVER__DEMO_DATA) to false, or use the embedded \
             tables of commodities and categories",
        )?;
    }
    Ok(())
}

/// Validates the settings that every service has.
///
/// # Errors
/// Names the setting to change.
pub(super) fn check<T: Default>(config: &Config<T>) -> anyhow::Result<()> {
    config.server.check()?;
    swagger_ui::check(&config.server.docs_links)?;
    config.auth.docs.login()?;
    config.traces.check()?;
    RateLimiter::open(&config.server)?;
    check_log(&config.log)
}

/// Validates section `log`.
///
/// # Errors
/// Names the setting to change.
pub(super) fn check_log(log: &Log) -> anyhow::Result<()> {
    ensure!(
        settings::is_level(&log.level),
        "log.level (DROVER_LOG__LEVEL) is \"{}\": set it to {}",
        log.level,
        settings::LEVELS.join(", ")
    );
    Ok(())
}

/// Installs the recorder and registers the metrics. Must run before anything is recorded.
fn register_metrics<S: Service>() {
    metrics::install();
    metrics::register_metrics(S::NAME);
    S::register_metrics();
}

async fn open_context<S: Service>(
    config: &Config<S::Settings>,
    address: SocketAddr,
) -> anyhow::Result<(ServiceContext, Export)> {
    // Before the database, which would be created: a service without verification keys must not leave a file behind.
    let verifier = Data::new(Verifier::open(&config.auth).await?);
    let (traces, export) = Traces::open(&config.traces, S::NAME)?;
    let options = options::<S>(&config.database);
    let db = Database::open(options.clone(), migrations::<S>).await?;
    if let Some(standby) = standby(&config.database) {
        db.follow_standby(&options, standby)?;
    }
    let public_url = public_url(&config.server, address);
    let auth = Data::new(config.auth.clone());
    Ok((ServiceContext { db, public_url, verifier, auth, traces }, export))
}

/// Returns the base URL that clients use, without a slash at the end.
pub(super) fn public_url(server: &Server, address: SocketAddr) -> String {
    let url = server.public_url.as_ref().map_or_else(|| format!("http://{address}"), ToString::to_string);
    url.trim_end_matches('/').to_owned()
}

/// Returns all migrations of a service, those of the common tables first.
pub fn migrations<S: Service>() -> Vec<Migrations> {
    let mut all = vec![COMMON, S::migrations()];
    all.extend(S::library_migrations());
    all
}

/// Returns the options of the service's database.
pub(super) fn options<S: Service>(config: &DatabaseConfig) -> Options {
    Options {
        url: config.url.clone(),
        schema: S::NAME,
        pool_size: config.pool_size.max(1),
        pooler: config.pooler,
        migrate: config.migrate,
        wait_timeout: Duration::from_millis(config.wait_ms),
    }
}

/// Returns the standby for exports, if there is one.
pub(super) fn standby(config: &DatabaseConfig) -> Option<StandbyOptions> {
    (!config.read_url.expose_secret().is_empty()).then(|| StandbyOptions {
        url: config.read_url.clone(),
        max_lag: Duration::from_millis(config.read_max_lag_ms),
    })
}
