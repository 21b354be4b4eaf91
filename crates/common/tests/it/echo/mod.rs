//! A fixture service: stores things and echoes parameters.

mod odd;
mod things;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use actix_web::web::Data;
use common::personal_data::RecordKind;
use common::{Config, Service, ServiceContext};
use database::{Database, EmbeddedMigrations, Migrations};
use include_dir::include_dir;
use testkit::{App, Backend, TestDatabase};
use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) struct Echo {
    db: Database,
    public_url: String,
    /// Set by the background task.
    has_run: AtomicBool,
}

impl Service for Echo {
    const NAME: &'static str = "echo";
    const TITLE: &'static str = "Echo";
    const ABOUT: &'static str = "Echoes requests";
    const PORT: u16 = 8099;
    type Settings = ();

    fn migrations() -> Migrations {
        const SQLITE: EmbeddedMigrations =
            EmbeddedMigrations(&include_dir!("$CARGO_MANIFEST_DIR/tests/migrations/sqlite"));
        const POSTGRES: EmbeddedMigrations =
            EmbeddedMigrations(&include_dir!("$CARGO_MANIFEST_DIR/tests/migrations/postgres"));
        Migrations {
            sqlite: SQLITE,
            postgres: POSTGRES,
            shared: false,
            distribution: database::Distribution::default(),
        }
    }

    fn record_kinds() -> Vec<RecordKind> {
        Vec::new()
    }

    fn routes(v1: &mut ServiceConfig) {
        things::routes(v1);
        odd::routes(v1);
    }

    async fn open((): &(), context: &ServiceContext) -> anyhow::Result<Self> {
        Ok(Self {
            db: context.db.clone(),
            public_url: context.public_url.clone(),
            has_run: AtomicBool::default(),
        })
    }

    async fn background(service: Data<Self>) {
        service.has_run.store(true, Relaxed);
    }

    async fn dependencies(&self) -> Vec<(&'static str, bool)> {
        vec![("reachable", true), ("unreachable", false), ("background", self.has_run.load(Relaxed))]
    }
}

pub(crate) async fn start() -> App {
    App::start::<Echo>(Backend::Sqlite, ()).await
}

/// Starts the service with a changed configuration.
pub(crate) async fn start_with(change: impl FnOnce(&mut Config<()>)) -> App {
    let database = TestDatabase::new::<Echo>(Backend::Sqlite).await;
    let mut config = testkit::config::<Echo>(&database, ());
    change(&mut config);
    App::start_with::<Echo>(database, config).await
}

/// Returns a valid body.
pub(crate) fn thing(name: &str) -> serde_json::Value {
    serde_json::json!({"name": name, "price": {"amount": 5, "currency": "GBP"}, "tags": []})
}
