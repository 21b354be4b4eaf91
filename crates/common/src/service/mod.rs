//! A running service or site: its definition, start, server, operational endpoints, command line and shutdown.

mod allocator;
pub mod backfill;
pub mod cli;
mod connection;
mod document;
mod health;
mod running;
mod server;
mod site;
mod start;
mod state;
mod swagger_ui;
mod unparsed;

use std::future::Future;

use actix_web::dev::ServiceResponse;
use actix_web::web::{self, Data};
use clap::{ArgMatches, Command};
use database::{Database, Migrations};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::auth::Verifier;
use crate::config::Auth;
use crate::personal_data::RecordKind;
use crate::telemetry::traces::Traces;
use cli::Checks;

pub use document::openapi;
pub use running::Running;
pub use site::{Pages, start_site};
pub use start::{migrations, start};

/// The definition of a service. The implementing type is the state that its handlers share.
pub trait Service: Sized + Send + Sync + 'static {
    /// Name of the program, and of the schema on PostgreSQL.
    const NAME: &'static str;
    /// Name for people.
    const TITLE: &'static str;
    /// One sentence on the purpose of the service.
    const ABOUT: &'static str;
    /// The examples of responses, as JSON: by operation and media type.
    const EXAMPLES: &'static str = "{}";
    /// Default port.
    const PORT: u16;
    /// Tags of the operations, with their descriptions.
    const TAGS: &'static [(&'static str, &'static str)] = &[];
    /// Section `service` of the configuration.
    type Settings: Default + Clone + std::fmt::Debug + Serialize + DeserializeOwned + Send;

    /// Returns the migrations of the service's own tables.
    fn migrations() -> Migrations;
    /// Returns the migrations of the tables of the libraries that the service uses.
    fn library_migrations() -> Vec<Migrations> {
        Vec::new()
    }
    /// Returns the kinds of records with personal data in the service's own tables and those of its libraries.
    fn record_kinds() -> Vec<RecordKind>;
    /// Adds the operations under `/v1`.
    fn routes(v1: &mut ServiceConfig);
    /// Adds what operations do not document to the OpenAPI document.
    fn describe(_document: &mut Value) {}
    /// Adds the state of operations that libraries define.
    fn configure(_service: &Data<Self>, _app: &mut web::ServiceConfig) {}
    /// Returns the commands that only this service has.
    fn commands() -> Vec<Command> {
        Vec::new()
    }
    /// Runs one of these [`commands`](Service::commands).
    ///
    /// # Errors
    /// The message is printed on standard error, and the exit code is 1.
    fn run(
        name: &str,
        _arguments: &ArgMatches,
        _settings: &Self::Settings,
        _db: Database,
    ) -> impl Future<Output = anyhow::Result<()>> {
        std::future::ready(Err(anyhow::anyhow!("there is no command {name}")))
    }
    /// Validates the settings as [`open`](Service::open) would, and tries the dependencies that they name.
    ///
    /// # Errors
    /// Names the setting that is invalid. A dependency that cannot be used is a failure in `checks` instead.
    fn check(
        _settings: &Self::Settings,
        _verifier: Data<Verifier>,
        _checks: &mut Checks,
    ) -> impl Future<Output = anyhow::Result<()>> {
        std::future::ready(Ok(()))
    }
    /// Describes the service's metrics and sets their initial values.
    fn register_metrics() {}
    /// Creates the state.
    ///
    /// # Errors
    /// Names the setting to change.
    fn open(
        settings: &Self::Settings,
        context: &ServiceContext,
    ) -> impl Future<Output = anyhow::Result<Self>>;
    /// Stores the records that the examples of the OpenAPI document name, unless they exist. Called at start with the
    /// setting `server.demo_data`.
    ///
    /// # Errors
    /// Fails if the records cannot be stored.
    fn create_demo_data(&self) -> impl Future<Output = anyhow::Result<()>> {
        std::future::ready(Ok(()))
    }
    /// Returns whether the service has read what it answers its first requests from. Until then `/readyz` is 503.
    fn is_warm(&self) -> bool {
        true
    }
    /// Returns the dependencies besides the database, and whether each is reachable, for `/readyz`.
    fn dependencies(&self) -> impl Future<Output = Vec<(&'static str, bool)>> {
        async { Vec::new() }
    }
    /// Runs in the background while the service runs.
    fn background(_service: Data<Self>) -> impl Future<Output = ()> + Send + 'static {
        std::future::ready(())
    }
    /// Finishes background work at shutdown, while requests in flight finish. Aborted after `server.shutdown_seconds`.
    fn finish(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// The parts that a service's state is created from.
pub struct ServiceContext {
    /// The service's database.
    pub db: Database,
    /// Base URL that clients use, without a slash at the end.
    pub public_url: String,
    /// Verifies tokens.
    pub verifier: Data<Verifier>,
    /// The settings of authentication.
    pub auth: Data<Auth>,
    /// Begins traces.
    pub traces: Traces,
}

/// The definition of a site. The implementing type is the state that its handlers share.
pub trait Site: Sized + Send + Sync + 'static {
    /// Name of the program.
    const NAME: &'static str;
    /// One sentence on the purpose of the site.
    const ABOUT: &'static str;
    /// Default port.
    const PORT: u16;
    /// The settings that `serve` needs, for its help.
    const NEEDS: &'static str;
    /// Section `service` of the configuration.
    type Settings: Default + Clone + std::fmt::Debug + Serialize + DeserializeOwned + Send;

    /// Adds the pages.
    fn pages(pages: &mut Pages<'_>);
    /// Completes a response: the headers that every page has, and a page in place of an error without one.
    fn complete(site: &Self, response: ServiceResponse) -> ServiceResponse;
    /// Validates the settings as [`open`](Site::open) would, and tries the dependencies that they name.
    ///
    /// # Errors
    /// Names the setting that is invalid. A dependency that cannot be used is a failure in `checks` instead.
    fn check(
        settings: &Self::Settings,
        context: &SiteContext,
        checks: &mut Checks,
    ) -> impl Future<Output = anyhow::Result<()>>;
    /// Creates the state.
    ///
    /// # Errors
    /// Names the setting to change.
    fn open(settings: &Self::Settings, context: &SiteContext) -> anyhow::Result<Self>;
    /// Returns the dependencies and whether each is reachable, for `/readyz`.
    fn dependencies(&self) -> impl Future<Output = Vec<(&'static str, bool)>>;
    /// Runs in the background while the site runs.
    fn background(_site: Data<Self>) -> impl Future<Output = ()> + Send + 'static {
        std::future::ready(())
    }
    /// Ends responses that would not end by themselves. Called at shutdown.
    fn stop(&self) {}
}

/// What the state of a site is created from.
#[derive(Clone, Debug)]
pub struct SiteContext {
    /// Base URL that browsers use, without a slash at the end.
    pub public_url: String,
}
