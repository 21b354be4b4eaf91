//! What is measured.

mod beside_writes;
mod browser;
mod citus;
mod clients;
mod files;
mod first_facets;
mod growth;
mod listings;
mod loads;
mod peer;
mod places;
mod saved_searches;
mod slow_export;
pub mod start;

use anyhow::Result;

use crate::environment::BenchEnvironment;

/// Name and function of a scenario.
type Scenario = (&'static str, fn(&BenchEnvironment) -> Result<()>);

/// All scenarios in the order in which they run: those that write follow those that read.
pub const SCENARIOS: [Scenario; 34] = [
    ("start", start::run),
    ("listings-by-date", listings::search::by_date),
    ("listings-by-price", listings::search::by_price),
    ("listings-near", listings::search::near),
    ("listings-gzip", listings::search::gzip),
    ("browser", browser::run),
    ("facets", listings::facets::exact),
    ("facets-uncached", listings::facets::uncached),
    ("facets-near", listings::facets::near),
    ("facets-age", listings::facets::age),
    ("facets-wishlist", listings::facets::wishlist),
    ("listings-words", listings::text::pages),
    ("facets-words", listings::text::facets),
    ("first-facets", first_facets::run),
    ("every-listing-search", listings::each_search::run),
    ("growth-listings", growth::listings),
    ("saved-searches", saved_searches::run),
    ("loads", loads::search::by_delivery),
    ("loads-csv", loads::search::csv),
    ("every-load-search", loads::each_search::run),
    ("growth-loads", growth::loads),
    ("clients-page", clients::pages),
    ("listings-beside-writes", beside_writes::listing_page),
    ("facets-beside-writes", beside_writes::facets),
    ("loads-beside-writes", beside_writes::load_page),
    ("create-loads", loads::write::create),
    ("clients-create", clients::creates),
    ("peer", peer::run),
    ("slow-export", slow_export::run),
    ("import", loads::write::import),
    ("upload", files::upload),
    ("download", files::download),
    ("places", places::run),
    ("citus", citus::run),
];
