//! The system service: files that loads and listings refer to.

mod cache;
mod config;
mod files;
mod schema;

use actix_web::web::Data;
use common::{Context, Service};
use database::{Database, EmbeddedMigrations, Migrations};
use diesel_migrations::embed_migrations;
use utoipa_actix_web::service_config::ServiceConfig;

pub use cache::Cache;
use cache::Secrets;
pub use config::Settings;
use files::content::ContentStore;

const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// What the handlers share.
pub struct System {
    db: Database,
    /// Begins every URL that answers show.
    public_url: String,
    store: ContentStore,
    cache: Cache,
    secrets: Secrets,
    settings: Settings,
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

    async fn open(settings: &Settings, context: &Context) -> anyhow::Result<Self> {
        Ok(Self {
            db: context.db.clone(),
            public_url: context.public_url.clone(),
            store: ContentStore::open(&settings.store_url)?,
            cache: Cache::open(settings).await?,
            secrets: Secrets::new(context.verifier.clone()),
            settings: settings.clone(),
        })
    }

    async fn dependencies(&self) -> Vec<(&'static str, bool)> {
        let (store, cache) = tokio::join!(self.store.is_reachable(), self.cache.is_reachable());
        vec![("store", store), ("cache", cache)]
    }

    async fn background(system: Data<Self>) {
        system.secrets.watch(&system.cache).await;
    }
}
