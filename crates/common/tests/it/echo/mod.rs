//! A service that stores things and says what it heard.

mod odd;
mod things;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use actix_web::web::Data;
use common::{Context, Service};
use database::{Database, Migrations};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use testkit::{App, Backend};
use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) struct Echo {
    db: Database,
    public_url: String,
    /// Set by what runs in the background.
    woken: AtomicBool,
}

impl Service for Echo {
    const NAME: &'static str = "echo";
    const TITLE: &'static str = "Echo";
    const ABOUT: &'static str = "Says what it heard";
    const PORT: u16 = 8099;
    type Settings = ();

    fn migrations() -> Migrations {
        const SQLITE: EmbeddedMigrations = embed_migrations!("tests/migrations/sqlite");
        const POSTGRES: EmbeddedMigrations = embed_migrations!("tests/migrations/postgres");
        Migrations { sqlite: SQLITE, postgres: POSTGRES }
    }

    fn routes(v1: &mut ServiceConfig) {
        things::routes(v1);
        odd::routes(v1);
    }

    async fn open((): &(), context: &Context) -> anyhow::Result<Self> {
        Ok(Self {
            db: context.db.clone(),
            public_url: context.public_url.clone(),
            woken: AtomicBool::default(),
        })
    }

    async fn background(service: Data<Self>) {
        service.woken.store(true, Relaxed);
    }

    async fn dependencies(&self) -> Vec<(&'static str, bool)> {
        vec![("well", true), ("ill", false), ("woken", self.woken.load(Relaxed))]
    }
}

pub(crate) async fn start() -> App {
    App::start::<Echo>(Backend::Sqlite, ()).await
}

/// A body that is accepted.
pub(crate) fn thing(name: &str) -> serde_json::Value {
    serde_json::json!({"name": name, "price": {"amount": 5, "currency": "GBP"}, "tags": []})
}
