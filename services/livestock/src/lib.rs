//! Listings of animals and supplies, offered or wanted: created, found, read.

mod breeds;
mod categories;
mod config;
mod listings;
mod metrics;
mod reports;
mod schema;
mod wishlist;

use std::sync::Arc;

use actix_web::web::Data;
use common::files::{FileClient, Shares};
use common::{Context, Service, Verifier};
use database::{Database, Migrations};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use utoipa_actix_web::service_config::ServiceConfig;

pub use config::Settings;

const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// What the handlers share.
pub struct Livestock {
    db: Database,
    public_url: String,
    files: Arc<FileClient>,
    shares: Shares,
    categories: categories::Categories,
    breeds: breeds::Breeds,
    follower: Arc<listings::FacetService>,
}

impl Service for Livestock {
    const NAME: &'static str = "livestock";
    const TITLE: &'static str = "Drover livestock";
    const ABOUT: &'static str = "Listings of animals and supplies, offered or wanted";
    const PORT: u16 = 8083;
    type Settings = Settings;

    fn migrations() -> Migrations {
        Migrations { sqlite: SQLITE, postgres: POSTGRES }
    }

    fn routes(v1: &mut ServiceConfig) {
        listings::routes(v1);
        reports::routes(v1);
        wishlist::routes(v1);
        categories::routes(v1);
    }

    fn register_metrics() {
        metrics::register_metrics();
    }

    async fn check(settings: &Settings, _: Data<Verifier>) -> anyhow::Result<()> {
        FileClient::new(&settings.system_url)?;
        categories::Categories::open(settings.categories_file.as_deref())?;
        Ok(())
    }

    async fn open(settings: &Settings, context: &Context) -> anyhow::Result<Self> {
        listings::rebuild_stale_rows(&context.db).await?;
        let files = Arc::new(FileClient::new(&settings.system_url)?);
        Ok(Self {
            db: context.db.clone(),
            public_url: context.public_url.clone(),
            shares: Shares::new(&context.db, &context.traces, files.clone()),
            files,
            categories: categories::Categories::open(settings.categories_file.as_deref())?,
            breeds: breeds::Breeds::embedded()?,
            follower: Arc::default(),
        })
    }

    async fn dependencies(&self) -> Vec<(&'static str, bool)> {
        vec![("system", self.files.is_reachable().await)]
    }

    async fn background(livestock: Data<Self>) {
        tokio::join!(listings::keep(livestock.clone()), livestock.shares.run());
    }
}
