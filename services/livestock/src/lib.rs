//! The livestock service: listings of animals and supplies that are offered or wanted.

#![warn(unreachable_pub)]

mod breeds;
mod categories;
mod config;
mod examples;
mod listings;
mod personal_data;
mod reports;
mod schema;
mod webhook_events;
mod wishlist;

use std::sync::Arc;

use actix_web::web::{self, Data};
use common::files::{FileClient, Shares};
use common::personal_data::RecordKind;
use common::{Service, ServiceContext, Verifier};
use database::{Database, Migrations};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use serde_json::Value;
use utoipa_actix_web::service_config::ServiceConfig;
use webhooks::Webhooks;

use breeds::Breeds;
use categories::Categories;
use listings::FacetService;

pub use config::Settings;

const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// The state that all handlers share.
pub struct Livestock {
    db: Database,
    /// Base URL that clients use, without a slash at the end.
    public_url: String,
    files: Arc<FileClient>,
    shares: Shares,
    categories: Arc<Categories>,
    breeds: Breeds,
    facets: Arc<FacetService>,
    webhooks: Webhooks,
}

impl Service for Livestock {
    const NAME: &'static str = "livestock";
    const TITLE: &'static str = "Drover livestock";
    const ABOUT: &'static str = "Listings of animals and supplies, offered or wanted";
    const PORT: u16 = 8083;
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("categories", "Categories of listings"),
        ("listings", "Listings of animals and supplies, and their lifecycle"),
        ("reports", "Reports of listings to the administrators"),
        ("wishlist", "Listings that a user watches"),
        ("webhooks", "Webhooks of organisations, and their deliveries"),
    ];
    type Settings = Settings;

    fn migrations() -> Migrations {
        Migrations { sqlite: SQLITE, postgres: POSTGRES }
    }

    fn library_migrations() -> Vec<Migrations> {
        vec![webhooks::migrations()]
    }

    fn record_kinds() -> Vec<RecordKind> {
        personal_data::record_kinds()
    }

    fn routes(v1: &mut ServiceConfig) {
        listings::routes(v1);
        reports::routes(v1);
        wishlist::routes(v1);
        categories::routes(v1);
        webhooks::routes(v1);
    }

    fn describe(document: &mut Value) {
        webhook_events::describe(document);
    }

    fn configure(service: &Data<Self>, app: &mut web::ServiceConfig) {
        app.app_data(Data::new(service.webhooks.clone()));
    }

    fn register_metrics() {
        listings::register_metrics();
        reports::register_metrics();
        webhook_events::register_metrics();
    }

    async fn check(settings: &Settings, _: Data<Verifier>) -> anyhow::Result<()> {
        FileClient::new(&settings.system_url)?;
        Categories::open(settings.categories_file.as_deref())?;
        Ok(())
    }

    async fn open(settings: &Settings, context: &ServiceContext) -> anyhow::Result<Self> {
        listings::rebuild_stale_rows(&context.db).await?;
        let files = Arc::new(FileClient::new(&settings.system_url)?);
        Ok(Self {
            db: context.db.clone(),
            public_url: context.public_url.clone(),
            shares: Shares::new(&context.db, &context.traces, files.clone()),
            files,
            categories: Arc::new(Categories::open(settings.categories_file.as_deref())?),
            breeds: Breeds::embedded()?,
            facets: Arc::default(),
            webhooks: Webhooks::open(settings.webhook_options(), context)?,
        })
    }

    async fn create_demo_data(&self) -> anyhow::Result<()> {
        listings::create_demo_data(&self.db, &self.categories, &self.breeds).await?;
        Ok(self.webhooks.create_demo_data(webhook_events::PUBLISHED).await?)
    }

    fn is_warm(&self) -> bool {
        self.facets.is_filled()
    }

    async fn dependencies(&self) -> Vec<(&'static str, bool)> {
        vec![("system", self.files.is_reachable().await)]
    }

    async fn background(service: Data<Self>) {
        tokio::join!(
            listings::run_background(&service.db, &service.facets),
            listings::run_snapshots(&service.db),
            service.shares.run(),
            service.webhooks.run(),
        );
    }

    async fn finish(&self) {
        self.webhooks.finish().await;
    }
}
