//! The livestock service: listings of animals and supplies that are offered or wanted.

#![warn(unreachable_pub)]

mod breeds;
mod categories;
mod config;
mod enquiries;
mod examples;
mod listings;
mod organisations;
mod personal_data;
mod reports;
mod saved_searches;
mod schema;
mod webhook_events;
mod wishlist;

use std::sync::Arc;

use actix_web::web::{self, Data};
use common::cli::Checks;
use common::feed::Feed;
use common::personal_data::RecordKind;
use common::system::{ImageLinkClient, PlaceClient, Shares, SystemClient};
use common::{PeriodLimits, Service, ServiceContext, Verifier};
use database::{Database, DistributedTable, Distribution, EmbeddedMigrations, Id, Migrations};
use include_dir::include_dir;
use serde_json::Value;
use utoipa_actix_web::service_config::ServiceConfig;
use webhooks::Webhooks;

use breeds::Breeds;
use categories::Categories;
use listings::{Editor, FacetService, FormValidators, LocationCompleter};
use saved_searches::{Matcher, ParameterRules};

pub use config::Settings;

const SQLITE: EmbeddedMigrations = EmbeddedMigrations(&include_dir!("$CARGO_MANIFEST_DIR/migrations/sqlite"));
const POSTGRES: EmbeddedMigrations =
    EmbeddedMigrations(&include_dir!("$CARGO_MANIFEST_DIR/migrations/postgres"));
/// How Citus places the tables.
const DISTRIBUTION: Distribution = Distribution {
    distributed: &[
        DistributedTable { name: "listings", column: "id", primary_key: None, is_joined: true },
        DistributedTable {
            name: "listing_events",
            column: "listing_id",
            primary_key: Some("n, listing_id"),
            is_joined: true,
        },
        DistributedTable { name: "wishlists", column: "listing_id", primary_key: None, is_joined: true },
        DistributedTable {
            name: "reports",
            column: "listing_id",
            primary_key: Some("id, listing_id"),
            is_joined: true,
        },
        DistributedTable { name: "due_locations", column: "listing_id", primary_key: None, is_joined: true },
    ],
    reference: &[],
};

/// The state that all handlers share.
pub struct Livestock {
    db: Database,
    /// Base URL that clients use, without a slash at the end.
    public_url: String,
    feed: Arc<Feed>,
    files: Arc<SystemClient>,
    shares: Shares,
    places: PlaceClient,
    image_links: ImageLinkClient,
    /// Whether visitors without a token see active listings.
    public_listings: bool,
    categories: Arc<Categories>,
    breeds: Breeds,
    form_validators: FormValidators,
    facets: Arc<FacetService>,
    webhooks: Webhooks,
    parameter_rules: Arc<ParameterRules>,
    /// The most bytes of saved searches with `notify` in memory.
    saved_search_bytes: i64,
    enquiry_retention_days: u32,
    /// Identifies this process in leases.
    replica: Id,
    /// `service.new_listings_per_hour`
    new_listings: PeriodLimits,
}

impl Livestock {
    /// Returns what is needed to edit listings.
    fn editor(&self) -> Editor<'_> {
        let Self { form_validators: validators, categories, breeds, .. } = self;
        Editor { validators, categories, breeds }
    }
}

impl Service for Livestock {
    const NAME: &'static str = "livestock";
    const TITLE: &'static str = "Drover livestock";
    const EXAMPLES: &'static str = include_str!("../examples.json");
    const ABOUT: &'static str = "Listings of animals and supplies, offered or wanted";
    const PORT: u16 = 8083;
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("categories", "Categories of listings"),
        ("enquiries", "Enquiries of users about listings of others"),
        ("events", "What changed, to follow it: the feed of events"),
        ("listings", "Listings of animals and supplies, and their lifecycle"),
        ("organisations", "Suspended organisations"),
        ("public listings", "Active listings for visitors without a token"),
        ("reports", "Reports of listings to the administrators"),
        ("saved searches", "Searches that a user saved, and notifications of the listings that match them"),
        ("wishlist", "Listings that a user watches"),
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
        listings::routes(v1);
        enquiries::routes(v1);
        organisations::routes(v1);
        reports::routes(v1);
        saved_searches::routes(v1);
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
        common::feed::register_metrics();
        listings::register_metrics();
        enquiries::register_metrics();
        reports::register_metrics();
        saved_searches::register_metrics();
        webhook_events::register_metrics();
    }

    async fn check(settings: &Settings, verifier: Data<Verifier>, checks: &mut Checks) -> anyhow::Result<()> {
        let files = SystemClient::new(&settings.system_url)?;
        Categories::open(settings.categories_file.as_deref())?;
        files.check(checks).await;
        verifier.accept_service_accounts_of(&settings.system_url)?;
        checks.run_service_accounts(&verifier).await;
        Ok(())
    }

    async fn open(settings: &Settings, context: &ServiceContext) -> anyhow::Result<Self> {
        context.db.write(listings::align_feed).await?;
        listings::rebuild_stale_rows(&context.db).await?;
        let files = Arc::new(SystemClient::new(&settings.system_url)?);
        context.verifier.accept_service_accounts_of(&settings.system_url)?;
        let categories = Arc::new(Categories::open(settings.categories_file.as_deref())?);
        let breeds = Breeds::embedded()?;
        let mut samples = listings::sample_events(&categories, &breeds)?;
        let enquiry = enquiries::sample_event(&samples[0].1["listing"])?;
        samples.push((webhook_events::ENQUIRY, enquiry));
        Ok(Self {
            db: context.db.clone(),
            public_url: context.public_url.clone(),
            feed: Arc::default(),
            shares: Shares::new(&context.db, &context.traces, files.clone()),
            places: PlaceClient::new(files.clone()),
            image_links: ImageLinkClient::new(files.clone()),
            public_listings: settings.public_listings,
            files,
            parameter_rules: Arc::new(ParameterRules::new(categories.clone())?),
            saved_search_bytes: settings.saved_search_bytes,
            enquiry_retention_days: settings.enquiry_retention_days,
            replica: Id::new(),
            categories,
            breeds,
            form_validators: FormValidators::new()?,
            facets: Arc::default(),
            webhooks: Webhooks::open(settings.webhook_options(), context, samples)?,
            new_listings: PeriodLimits::hourly(settings.new_listings_per_hour),
        })
    }

    async fn create_demo_data(&self) -> anyhow::Result<()> {
        listings::create_demo_data(&self.db, &self.categories, &self.breeds).await?;
        self.db.write(reports::create_demo_report).await?;
        self.db.write(enquiries::create_demo_enquiry).await?;
        saved_searches::create_demo_data(&self.db).await?;
        Ok(self.webhooks.create_demo_data(webhook_events::PUBLISHED).await?)
    }

    fn is_warm(&self) -> bool {
        self.facets.is_filled()
    }

    async fn dependencies(&self) -> Vec<(&'static str, bool)> {
        vec![("system", self.files.is_reachable().await)]
    }

    async fn background(service: Data<Self>) {
        let completer = LocationCompleter { db: &service.db, places: &service.places };
        tokio::join!(
            completer.run(|| service.webhooks.wake()),
            listings::run_background(&service.db, &service.facets),
            service.shares.run(),
            service.webhooks.run(),
            Matcher::new(&service.db, &service.parameter_rules, service.replica)
                .run(|| service.webhooks.wake()),
            saved_searches::report_lag(&service.db),
            enquiries::run_retention(&service.db, service.enquiry_retention_days),
            service.feed.run(&service.db, listings::find_new_events),
        );
    }

    async fn finish(&self) {
        self.webhooks.finish().await;
        saved_searches::release_lease(&self.db, self.replica).await;
    }
}
