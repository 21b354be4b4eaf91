//! The system service: files that loads and listings refer to, service accounts, places, countries, and the cache of
//! places.

#![warn(unreachable_pub)]

mod cache;
mod config;
mod countries;
mod examples;
mod files;
mod keys;
mod places;
mod schema;
mod service_accounts;

use std::sync::Arc;

use actix_web::web::{self, Data};
use clap::{ArgMatches, Command};
use common::cli::Checks;
use common::personal_data::RecordKind;
use common::{Service, ServiceContext, TenantLimits, Verifier};
use database::{Database, DistributedTable, Distribution, EmbeddedMigrations, Migrations};
use include_dir::include_dir;
use utoipa_actix_web::scope::scope;
use utoipa_actix_web::service_config::ServiceConfig;

pub use cache::Cache;
use cache::SecretReloader;
pub use config::{AddressProvider, Settings, WordsProvider};
use countries::Countries;
use files::blob_store::BlobStore;
use files::images::ImageCopies;
use files::limits::LargeResponses;
use files::privacy::MetadataStripper;
use files::scan::Scanner;
use files::sweep;
use places::Places;
use service_accounts::Issuer;

const SQLITE: EmbeddedMigrations = EmbeddedMigrations(&include_dir!("$CARGO_MANIFEST_DIR/migrations/sqlite"));
const POSTGRES: EmbeddedMigrations =
    EmbeddedMigrations(&include_dir!("$CARGO_MANIFEST_DIR/migrations/postgres"));
/// How Citus places the tables.
const DISTRIBUTION: Distribution = Distribution {
    distributed: &[DistributedTable { name: "files", column: "id", primary_key: None, is_joined: true }],
    reference: &[],
};

/// The state that all handlers share.
pub struct System {
    db: Database,
    /// Base of the URLs in responses, without a slash at the end.
    public_url: String,
    blob_store: BlobStore,
    image_copies: ImageCopies,
    stripper: MetadataStripper,
    large_responses: LargeResponses,
    /// Limits the concurrent calls to resolve files of each tenant.
    resolve_limits: TenantLimits,
    /// A tenant's calls that strip images to share them with everybody: one at a time.
    publish_limits: TenantLimits,
    scanner: Option<Scanner>,
    cache: Cache,
    secrets: Arc<SecretReloader>,
    places: Places,
    countries: Countries,
    issuer: Issuer,
    settings: Settings,
}

impl Service for System {
    const NAME: &'static str = "system";
    const TITLE: &'static str = "Drover system";
    const EXAMPLES: &'static str = include_str!("../examples.json");
    const ABOUT: &'static str =
        "Stores uploaded files, resolves places and addresses, and lists countries and regions.";
    const PORT: u16 = 8081;
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("addresses", "Search for places, addresses and postcodes"),
        ("cache", "The cache of places"),
        ("countries", "Countries and their regions"),
        ("files", "Files of loads and listings"),
        ("locations", "Locations by address, coordinates or three words"),
        ("service accounts", "Service accounts of organisations, and the tokens that they get"),
    ];
    type Settings = Settings;

    fn migrations() -> Migrations {
        Migrations { sqlite: SQLITE, postgres: POSTGRES, shared: false, distribution: DISTRIBUTION }
    }

    fn record_kinds() -> Vec<RecordKind> {
        files::record_kinds()
    }

    fn routes(v1: &mut ServiceConfig) {
        files::routes(v1);
        service_accounts::routes(v1);
        cache::routes(v1);
        open_routes(v1);
        v1.service(scope("/public").configure(open_routes));
    }

    fn configure(_: &Data<Self>, app: &mut web::ServiceConfig) {
        service_accounts::well_known_routes(app);
    }

    fn commands() -> Vec<Command> {
        vec![sweep::command()]
    }

    async fn run(_: &str, arguments: &ArgMatches, settings: &Settings, db: Database) -> anyhow::Result<()> {
        sweep::run(arguments, settings, db).await
    }

    fn register_metrics() {
        cache::register_metrics(&places::CACHE_KEY_KINDS);
        files::images::register_metrics();
        places::register_metrics();
        service_accounts::register_metrics();
    }

    async fn check(settings: &Settings, verifier: Data<Verifier>, checks: &mut Checks) -> anyhow::Result<()> {
        let durations = settings.check().map(|()| "all of them are at least 1".to_owned());
        checks.run("durations", "change the settings that are named", async { durations }).await;
        Cache::check(settings, checks).await;
        countries::check(settings, checks).await;
        Places::check(settings, &Arc::new(SecretReloader::new(verifier)), checks).await;
        Scanner::check_config(settings, checks).await;
        BlobStore::check(settings, checks).await;
        Ok(())
    }

    async fn open(settings: &Settings, context: &ServiceContext) -> anyhow::Result<Self> {
        settings.check()?;
        let cache = Cache::open(settings).await?;
        let secrets = Arc::new(SecretReloader::new(context.verifier.clone()));
        let enabled = countries::read_enabled(settings)?;
        files::search::fill_name_keys_at_start(&context.db).await?;
        keys::create_first_key(&context.db).await?;
        let blob_store = BlobStore::open(settings).await?;
        Ok(Self {
            db: context.db.clone(),
            public_url: context.public_url.clone(),
            image_copies: ImageCopies::new(blob_store.clone()),
            stripper: MetadataStripper::new(blob_store.clone()),
            blob_store,
            large_responses: LargeResponses::default(),
            resolve_limits: TenantLimits::new(files::MAX_TENANT_RESOLVES),
            publish_limits: TenantLimits::new(1),
            scanner: Scanner::open(settings)?,
            places: Places::open(settings, &enabled, cache.clone(), &secrets)?,
            countries: Countries::open(&enabled)?,
            issuer: Issuer::open(context)?,
            cache,
            secrets,
            settings: settings.clone(),
        })
    }

    async fn create_demo_data(&self) -> anyhow::Result<()> {
        files::create_demo_data(&self.db, &self.blob_store, self.settings.sweep_grace()).await?;
        Ok(service_accounts::create_demo_data(&self.db).await?)
    }

    async fn dependencies(&self) -> Vec<(&'static str, bool)> {
        let scanner = async {
            match &self.scanner {
                Some(scanner) => Some(("scanner", scanner.is_reachable().await)),
                None => None,
            }
        };
        let (store, cache, scanner) =
            tokio::join!(self.blob_store.is_reachable(), self.cache.is_reachable(), scanner);
        [("store", store), ("cache", cache)].into_iter().chain(scanner).chain(self.places.health()).collect()
    }

    async fn background(system: Data<Self>) {
        tokio::join!(
            system.secrets.watch(&system.cache),
            system.cache.update_metrics_periodically(),
            files::search::run_name_key_backfill(&system.db),
            sweep::run_periodically(&system.db, &system.blob_store, system.settings.sweep_grace()),
        );
    }
}

/// Registers the routes that need no token. They exist under `/v1`, and under `/v1/public` for browsers
/// (docs/api/browsers.md).
fn open_routes(group: &mut ServiceConfig) {
    places::routes(group);
    countries::routes(group);
}
