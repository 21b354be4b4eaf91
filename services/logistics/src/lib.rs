//! The logistics service: loads that organisers order and carriers move, proofs of their delivery, and notifications to
//! drivers and carriers.

#![warn(unreachable_pub)]

mod commodities;
mod config;
mod examples;
mod loads;
mod notifications;
mod organisations;
mod personal_data;
mod schema;
mod webhook_events;

use std::sync::Arc;

use actix_web::web::{self, Data};
use clap::{ArgMatches, Command};
use common::cli::Checks;
use common::feed::Feed;
use common::personal_data::RecordKind;
use common::system::{Shares, SystemClient};
use common::{CallerObserver, PeriodLimits, Service, ServiceContext, Verifier};
use database::{Database, DistributedTable, Distribution, EmbeddedMigrations, Migrations};
use include_dir::include_dir;
use serde_json::Value;
use utoipa_actix_web::service_config::ServiceConfig;
use webhooks::Webhooks;

pub use config::{Settings, ToleranceAction};

const SQLITE: EmbeddedMigrations = EmbeddedMigrations(&include_dir!("$CARGO_MANIFEST_DIR/migrations/sqlite"));
const POSTGRES: EmbeddedMigrations =
    EmbeddedMigrations(&include_dir!("$CARGO_MANIFEST_DIR/migrations/postgres"));
/// How Citus places the tables.
const DISTRIBUTION: Distribution = Distribution {
    distributed: &[
        DistributedTable { name: "loads", column: "id", primary_key: None, is_joined: true },
        DistributedTable {
            name: "load_events",
            column: "load_id",
            primary_key: Some("n, load_id"),
            is_joined: true,
        },
        DistributedTable { name: "load_drivers", column: "load_id", primary_key: None, is_joined: true },
        DistributedTable {
            name: "notifications",
            column: "load_id",
            primary_key: Some("id, load_id"),
            is_joined: true,
        },
    ],
    reference: &[],
};

/// The state that handlers share.
pub struct Logistics {
    db: Database,
    public_url: String,
    feed: Arc<Feed>,
    files: Arc<SystemClient>,
    shares: Shares,
    commodities: Arc<commodities::Catalogue>,
    notifications: Arc<notifications::Dispatcher>,
    webhooks: Webhooks,
    batches: loads::Batches,
    callers: Arc<loads::KnownCallers>,
    address_book: loads::AddressBook,
    weight_tolerance: loads::WeightTolerance,
    /// `service.new_loads_per_hour`
    new_loads: PeriodLimits,
}

impl Service for Logistics {
    const NAME: &'static str = "logistics";
    const TITLE: &'static str = "Drover logistics";
    const EXAMPLES: &'static str = include_str!("../examples.json");
    const ABOUT: &'static str = "Loads of commodities: creation, search, proof of delivery and notifications";
    const PORT: u16 = 8082;
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("commodities", "The catalogue of commodities"),
        ("loads", "Loads, their history, and proofs of their delivery"),
        ("events", "What changed, to follow it: the feed of events"),
        ("notifications", "Sending loads to drivers and carriers, and the log of these notifications"),
        (
            "organisations",
            "The address book of the caller's organisation, and the organisations that it has blocked",
        ),
        ("webhooks", "Webhooks of organisations, and their deliveries"),
    ];
    type Settings = Settings;

    fn migrations() -> Migrations {
        Migrations { sqlite: SQLITE, postgres: POSTGRES, shared: false, distribution: DISTRIBUTION }
    }

    fn library_migrations() -> Vec<Migrations> {
        vec![webhooks::migrations()]
    }

    fn record_kinds() -> Vec<RecordKind> {
        personal_data::record_kinds()
    }

    fn routes(v1: &mut ServiceConfig) {
        notifications::routes(v1);
        loads::routes(v1);
        organisations::routes(v1);
        commodities::routes(v1);
        webhooks::routes(v1);
    }

    fn describe(document: &mut Value) {
        webhook_events::describe(document);
    }

    fn configure(logistics: &Data<Self>, app: &mut web::ServiceConfig) {
        app.app_data(Data::new(logistics.webhooks.clone()));
        let callers = logistics.callers.clone();
        app.app_data(Data::new(CallerObserver::new(move |caller| callers.see(caller))));
    }

    fn commands() -> Vec<Command> {
        vec![notifications::command()]
    }

    async fn run(_: &str, arguments: &ArgMatches, _: &Settings, db: Database) -> anyhow::Result<()> {
        notifications::run(arguments, db).await
    }

    fn register_metrics() {
        common::feed::register_metrics();
        notifications::register_metrics();
        webhook_events::register_metrics();
    }

    async fn check(settings: &Settings, verifier: Data<Verifier>, checks: &mut Checks) -> anyhow::Result<()> {
        let files = SystemClient::new(&settings.system_url)?;
        notifications::Channel::open(settings)?;
        commodities::Catalogue::open(settings.commodities_file.as_deref())?;
        files.check(checks).await;
        verifier.accept_service_accounts_of(&settings.system_url)?;
        checks.run_service_accounts(&verifier).await;
        Ok(())
    }

    async fn open(settings: &Settings, context: &ServiceContext) -> anyhow::Result<Self> {
        loads::backfill_at_start(&context.db).await?;
        context.db.write(loads::align_feed).await?;
        let files = Arc::new(SystemClient::new(&settings.system_url)?);
        context.verifier.accept_service_accounts_of(&settings.system_url)?;
        let catalogue = commodities::Catalogue::open(settings.commodities_file.as_deref())?;
        let samples = webhook_events::samples(&catalogue)?;
        let callers = Arc::<loads::KnownCallers>::default();
        Ok(Self {
            db: context.db.clone(),
            public_url: context.public_url.clone(),
            feed: Arc::default(),
            shares: Shares::new(&context.db, &context.traces, files.clone()),
            files,
            batches: loads::Batches::new(settings)?,
            address_book: loads::AddressBook::new(&context.db, &callers),
            callers,
            commodities: Arc::new(catalogue),
            notifications: Arc::new(notifications::Dispatcher::new(
                notifications::Channel::open(settings)?,
                settings.notification_delivery(),
                context,
            )?),
            webhooks: Webhooks::open(settings.webhook_options(), context, samples)?,
            weight_tolerance: loads::WeightTolerance::of(settings),
            new_loads: PeriodLimits::hourly(settings.new_loads_per_hour),
        })
    }

    async fn create_demo_data(&self) -> anyhow::Result<()> {
        loads::create_demo_data(&self.db, &self.commodities).await?;
        Ok(self.webhooks.create_demo_data("load.created").await?)
    }

    async fn dependencies(&self) -> Vec<(&'static str, bool)> {
        vec![("system", self.files.is_reachable().await)]
    }

    async fn background(logistics: Data<Self>) {
        let db = &logistics.db;
        tokio::join!(
            logistics.notifications.clone().run(),
            logistics.webhooks.run(),
            loads::run_fulltext_indexer(db),
            loads::run_backfill(db),
            logistics.callers.run(db),
            loads::run_address_book(db),
            loads::run_large_imports(db, &logistics.batches, &logistics.webhooks),
            logistics.shares.run(),
            logistics.feed.run(db, loads::find_new_events),
        );
    }

    async fn finish(&self) {
        tokio::join!(self.notifications.finish(), self.webhooks.finish());
    }
}
