//! The system service: files that loads and listings refer to.

mod cache;
mod config;
mod files;
mod schema;

use std::time::Duration;

use actix_web::web::Data;
use clap::{ArgMatches, Command};
use common::{Context, Service};
use database::{Database, EmbeddedMigrations, Migrations};
use diesel_migrations::embed_migrations;
use utoipa_actix_web::service_config::ServiceConfig;

pub use cache::Cache;
use cache::Secrets;
pub use config::Settings;
use files::content::ContentStore;
use files::scan::Scanner;
use files::sweep;

const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// What the handlers share.
pub struct System {
    db: Database,
    /// Begins every URL that answers show.
    public_url: String,
    store: ContentStore,
    scanner: Option<Scanner>,
    cache: Cache,
    secrets: Secrets,
    settings: Settings,
}

impl System {
    fn grace(&self) -> Duration {
        self.settings.grace()
    }
}

impl Service for System {
    const NAME: &'static str = "system";
    const TITLE: &'static str = "Drover system";
    const ABOUT: &'static str = "Keeps uploaded files and tells what is known of them.";
    const PORT: u16 = 8081;
    type Settings = Settings;

    fn migrations() -> Migrations {
        Migrations { sqlite: SQLITE, postgres: POSTGRES }
    }

    fn routes(v1: &mut ServiceConfig) {
        files::routes(v1);
        cache::routes(v1);
    }

    fn commands() -> Vec<Command> {
        vec![sweep::command()]
    }

    async fn run(_: &str, arguments: &ArgMatches, settings: &Settings, db: Database) -> anyhow::Result<()> {
        sweep::run(arguments, settings, db).await
    }

    async fn open(settings: &Settings, context: &Context) -> anyhow::Result<Self> {
        Ok(Self {
            db: context.db.clone(),
            public_url: context.public_url.clone(),
            store: ContentStore::open(settings).await?,
            scanner: Scanner::open(settings)?,
            cache: Cache::open(settings).await?,
            secrets: Secrets::new(context.verifier.clone()),
            settings: settings.clone(),
        })
    }

    async fn dependencies(&self) -> Vec<(&'static str, bool)> {
        let scanner = async {
            match &self.scanner {
                Some(scanner) => Some(("scanner", scanner.is_reachable().await)),
                None => None,
            }
        };
        let (store, cache, scanner) =
            tokio::join!(self.store.is_reachable(), self.cache.is_reachable(), scanner);
        [("store", store), ("cache", cache)].into_iter().chain(scanner).collect()
    }

    async fn background(system: Data<Self>) {
        tokio::join!(system.secrets.watch(&system.cache), sweep::at_start(&system));
    }
}
